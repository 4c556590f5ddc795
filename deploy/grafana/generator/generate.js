// Writes the dashboards: node generate.js FOLDER. Without a change in this folder
// the output is the same to the byte.
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const DASHBOARDS = ['server', 'load', 'fast_paths'];

function main(folder) {
  if (!folder) {
    console.error('Usage: node generate.js FOLDER');
    return 2;
  }
  for (const name of DASHBOARDS) {
    const file = path.join(folder, `${name.replaceAll('_', '-')}.json`);
    fs.writeFileSync(file, `${JSON.stringify(require(`./${name}`), null, 2)}\n`);
  }
  return 0;
}

process.exitCode = main(process.argv[2]);
