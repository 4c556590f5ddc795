// One server against itself: what a fast path is worth, while something (the
// compose file's profile ab, or vfsctl fast-paths) switches it on and off under
// load.
'use strict';

const { lines, figure, states, make, labelVariable } = require('./parts');

const OPERATIONS = 'sum by (job, instance) (rate(vfs_ops_total{@}[$__rate_interval]))';
const CPU = 'sum by (job, instance) (rate(process_cpu_seconds_total{@}[$__rate_interval]))';
const COST = `${CPU} / (${OPERATIONS} > 0)`;
const DEFERRED = 'sum by (job, instance) (rate(vfs_deferred_files_total{@}[$__rate_interval]))';

// Only while the chosen fast path is switched on (1) or off (0).
const during = (expression, state) =>
  `(${expression}) and on (job, instance) (vfs_fast_path_enabled{@,fast_path="$fast_path"} == ${state})`;
const both = (expression) => [
  ['on', during(expression, 1)],
  ['off', during(expression, 0)],
];
const mean = (expression, state) => `avg(avg_over_time((${during(expression, state)})[$__range:5s]))`;

module.exports = make({
  uid: 'vfsd-fast-paths',
  title: 'vfsd: fast paths A/B',
  description: 'What a fast path of vfsd is worth: the same server under the same load, with it and without it.',
  known: 'vfsd_build_info',
  variables: [labelVariable('fast_path', 'Fast path', 'vfs_fast_path_enabled{job=~"$job"}')],
  rows: [
    [
      'Over the whole time range',
      [
        figure(6, 'Cost with it', 'Mean CPU time of the server for an operation while the fast path was on.', 's', [['on', mean(COST, 1)]]),
        figure(6, 'Cost without it', 'Mean CPU time of the server for an operation while the fast path was off.', 's', [['off', mean(COST, 0)]]),
        figure(6, 'Cost saved', 'How much less CPU time an operation takes with the fast path, of what it takes without. The wire is in it: batched load shows the core best.', 'percentunit', [
          ['saved', `1 - ${mean(COST, 1)} / ${mean(COST, 0)}`],
        ]),
        figure(6, 'Throughput gained', 'How many more operations a second with the fast path than without.', 'percentunit', [
          ['gained', `${mean(OPERATIONS, 1)} / ${mean(OPERATIONS, 0)} - 1`],
        ]),
      ],
    ],
    [
      'Over time',
      [
        lines(12, 'CPU per operation', 'CPU time of the server for an operation, with the fast path and without it.', 's', both(COST)),
        lines(12, 'Operations', 'Operations a second, with the fast path and without it.', 'ops', both(OPERATIONS)),
        lines(12, 'Hits of the fast path', 'Operations a second that took the chosen fast path: none while it is off.', 'ops', [
          ['{{instance}}', 'sum by (instance) (rate(vfs_fast_path_hits_total{@,fast_path="$fast_path"}[$__rate_interval]))'],
        ]),
        lines(12, 'Deferred files', 'Files a second that go the general way, through the deferred list.', 'ops', both(DEFERRED)),
        lines(12, 'Time in the core (p99)', 'Time in the VFS core of a sample of operations, by kind.', 's', [
          ['{{op}}', 'histogram_quantile(0.99, sum by (le, op) (rate(vfs_op_duration_seconds_bucket{@}[$__rate_interval])))'],
        ]),
        states(12, 'Switches', 'Which fast paths are switched on.', 'none', [
          ['{{fast_path}}', 'max by (fast_path) (vfs_fast_path_enabled{@})'],
        ]),
      ],
    ],
  ],
});
