// A load test: what was asked for and what came back, how fast, what went wrong,
// and whether the figures are the server's or the client's own limit.
'use strict';

const { lines, figure, heatmap, table, states, quantiles, redAbove, make } = require('./parts');

// process_* exists on both sides; this picks the load clients'.
const ofLoad = (expression) => `${expression} and on (job, instance) vfsload_build_info{@}`;

module.exports = make({
  uid: 'vfsd-load',
  title: 'vfsd: load test',
  description: 'A run of vfsload against vfsd: rates of both sides, service time, errors, and the limits of the clients themselves.',
  known: 'vfsd_build_info|vfsload_build_info',
  rows: [
    [
      'Verdict',
      [
        figure(4, 'Operations asked', 'Operations a second that the load clients have an answer for.', 'ops', [
          ['asked', 'sum(rate(vfsload_ops_total{@}[$__rate_interval]))'],
        ]),
        figure(4, 'Operations served', 'Operations a second that the servers count. More than the clients ask: somebody else is loading them too.', 'ops', [
          ['served', 'sum(rate(vfs_ops_total{@}[$__rate_interval]))'],
        ]),
        figure(4, 'Service time (p99)', '99 % of the unary calls of the load are answered within this time of being sent.', 's', [
          ['p99', 'histogram_quantile(0.99, sum by (le) (rate(grpc_client_handling_seconds_bucket{@}[$__rate_interval])))'],
        ]),
        figure(4, 'Wrong answers', 'Answers that differ from what the namespace holds. One is enough to make a run worthless.', 'none', [
          ['wrong', 'sum(increase(vfsload_wrong_answers_total{@}[$__range]))'],
        ]).thresholds(redAbove(0.1)),
        figure(4, 'CPU of a load thread', 'CPUs that the client uses for each thread that makes load. Near 100 % the client is the limit, not the server.', 'percentunit', [
          ['CPU', `max(sum by (job, instance) (rate(process_cpu_seconds_total{@}[$__rate_interval])) / sum by (job, instance) (vfsload_workers{@}))`],
        ]).thresholds(redAbove(0.9)),
        figure(4, 'Server CPU per operation', 'CPU time of the servers divided by their operations.', 's', [
          ['CPU', 'sum(rate(process_cpu_seconds_total{@}[$__rate_interval]) and on (job, instance) vfsd_build_info{@}) / sum(rate(vfs_ops_total{@}[$__rate_interval]))'],
        ]),
        figure(6, 'Target held', 'Operations answered, of those that the plan of an open loop has come to. Below 100 % the rate that was asked for is not the one that is measured. A closed loop has no plan.', 'percentunit', [
          ['held', 'sum(rate(vfsload_ops_total{@}[$__rate_interval])) / (sum(rate(vfsload_scheduled_total{@}[$__rate_interval])) > 0)'],
        ]),
        figure(6, 'Response time (p99)', '99 % of the operations of an open loop are answered within this time of their planned start: what users would feel. Unary.', 's', [
          ['p99', 'histogram_quantile(0.99, sum by (le) (rate(vfsload_response_seconds_bucket{@,op!="batch"}[$__rate_interval])))'],
        ]),
        figure(6, 'Behind the plan (p99)', '99 % of the planned starts of an open loop are no later than this.', 's', [
          ['lag', 'histogram_quantile(0.99, sum by (le) (rate(vfsload_schedule_lag_seconds_bucket{@}[$__rate_interval])))'],
        ]).thresholds(redAbove(0.01)),
        figure(6, 'Dropped', 'Operations of an open loop in this time range that were never sent.', 'none', [
          ['dropped', 'sum(increase(vfsload_dropped_total{@}[$__range]))'],
        ]).thresholds(redAbove(0.1)),
        states(12, 'Phase', 'What the load clients are doing: warming up, measuring, cooling down, done.', 'none', [
          ['{{phase}}', 'max by (phase) (vfsload_phase{@})'],
        ]),
        table(12, 8, 'Runs', 'Identity, scenario and mode of the runs.', 'none', [['', 'vfsload_run_info{@}']]),
      ],
    ],
    [
      'Throughput',
      [
        lines(12, 'Target against achieved', 'Operations a second that the plan of an open loop has come to, and that are answered. A closed loop has no target: it takes what the server gives.', 'ops', [
          ['target', 'sum(rate(vfsload_scheduled_total{@}[$__rate_interval]))'],
          ['achieved', 'sum(rate(vfsload_ops_total{@}[$__rate_interval]))'],
        ]),
        lines(12, 'Late and dropped', 'Operations a second of an open loop that start over 1 ms late, and that are never sent, by reason.', 'ops', [
          ['late', 'sum(rate(vfsload_late_total{@}[$__rate_interval]))'],
          ['dropped: {{reason}}', 'sum by (reason) (rate(vfsload_dropped_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'Asked by kind', 'Operations a second of the clients, by kind.', 'ops', [
          ['{{op}}', 'sum by (op) (rate(vfsload_ops_total{@}[$__rate_interval])) > 0'],
        ]),
        lines(8, 'Served by kind', 'Operations a second of the servers, by kind.', 'ops', [
          ['{{op}}', 'sum by (op) (rate(vfs_ops_total{@}[$__rate_interval])) > 0'],
        ]),
        lines(8, 'Asked by client', 'Operations a second of each load client.', 'ops', [
          ['{{instance}}', 'sum by (instance) (rate(vfsload_ops_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'Calls sent and answered', 'Unary calls a second that are sent, and that are answered. Where they part, the server does not keep up.', 'reqps', [
          ['sent', 'sum(rate(grpc_client_started_total{@}[$__rate_interval]))'],
          ['answered', 'sum(rate(grpc_client_handled_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'Batch messages', 'Messages a second on batch streams.', 'ops', [
          ['sent', 'sum(rate(grpc_client_msg_sent_total{@}[$__rate_interval]))'],
          ['answered', 'sum(rate(grpc_client_msg_received_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'In flight', 'Calls and messages without an answer yet, at the clients; and connections.', 'none', [
          ['in flight', 'sum(vfsload_inflight{@})'],
          ['connections', 'sum(vfsload_channels{@})'],
        ]),
      ],
    ],
    [
      'Response and service time',
      [
        lines(12, 'Response against service time', 'Of unary calls of an open loop: from the planned start (response), and from the send (service), to the reply. The gap is time that callers wait and a closed loop does not see.', 's', [
          ['response p50', 'histogram_quantile(0.5, sum by (le) (rate(vfsload_response_seconds_bucket{@,op!="batch"}[$__rate_interval])))'],
          ['service p50', 'histogram_quantile(0.5, sum by (le) (rate(grpc_client_handling_seconds_bucket{@}[$__rate_interval])))'],
          ['response p99', 'histogram_quantile(0.99, sum by (le) (rate(vfsload_response_seconds_bucket{@,op!="batch"}[$__rate_interval])))'],
          ['service p99', 'histogram_quantile(0.99, sum by (le) (rate(grpc_client_handling_seconds_bucket{@}[$__rate_interval])))'],
        ]),
        lines(12, 'Response time by operation (p99)', '99 % of the operations of an open loop are answered within this time of their planned start; batch is a message.', 's', [
          ['{{op}}', 'histogram_quantile(0.99, sum by (le, op) (rate(vfsload_response_seconds_bucket{@}[$__rate_interval])))'],
        ]),
        lines(8, 'Unary calls', 'Time from the sending of a call to its answer, at the clients.', 's', quantiles('grpc_client_handling_seconds')),
        lines(8, 'Batch messages, time', 'Time from the sending of a batch message to its answer, at the clients.', 's', quantiles('vfsload_batch_seconds')),
        heatmap(8, 'Unary calls, all', 'How many unary calls a second took how long, at the clients.', 's', [
          ['{{le}}', 'sum by (le) (rate(grpc_client_handling_seconds_bucket{@}[$__rate_interval]))'],
        ]),
        lines(24, 'Where the time goes (p99)', 'The 99th percentile at the client, at the server, and in the core alone. Between the first two lie network and queues, between the last two gRPC and encoding.', 's', [
          ['client', 'histogram_quantile(0.99, sum by (le) (rate(grpc_client_handling_seconds_bucket{@}[$__rate_interval])))'],
          ['server', 'histogram_quantile(0.99, sum by (le) (rate(grpc_server_handling_seconds_bucket{@,grpc_type="unary"}[$__rate_interval])))'],
          ['core', 'histogram_quantile(0.99, sum by (le) (rate(vfs_op_duration_seconds_bucket{@}[$__rate_interval])))'],
        ]),
      ],
    ],
    [
      'Errors',
      [
        lines(12, 'Results', 'Operations a second that ended with an error, by its name. What a scenario expects (openneg: ENOENT) is among them.', 'ops', [
          ['{{result}}', 'sum by (result) (rate(vfsload_ops_total{@,result!="ok"}[$__rate_interval]))'],
        ]),
        lines(12, 'Failed calls by code', 'Calls a second that did not end with OK.', 'reqps', [
          ['{{grpc_code}}', 'sum by (grpc_code) (rate(grpc_client_handled_total{@,grpc_code!="OK"}[$__rate_interval]))'],
        ]),
      ],
    ],
    [
      'The load clients themselves',
      [
        lines(8, 'CPU of the clients', 'CPUs in use, and threads that make load.', 'none', [
          ['{{instance}} CPUs', ofLoad('sum by (job, instance) (rate(process_cpu_seconds_total{@}[$__rate_interval]))')],
          ['{{instance}} threads', 'sum by (instance) (vfsload_workers{@})'],
        ]),
        lines(8, 'Memory of the clients', 'Resident memory.', 'bytes', [
          ['{{instance}}', ofLoad('process_resident_memory_bytes{@}')],
        ]),
        lines(8, 'CPU per operation, both sides', 'CPU time divided by operations, of the servers and of the clients.', 's', [
          ['server', 'sum(rate(process_cpu_seconds_total{@}[$__rate_interval]) and on (job, instance) vfsd_build_info{@}) / sum(rate(vfs_ops_total{@}[$__rate_interval]))'],
          ['client', `sum(${ofLoad('rate(process_cpu_seconds_total{@}[$__rate_interval])')}) / sum(rate(vfsload_ops_total{@}[$__rate_interval]))`],
        ]),
        table(24, 5, 'Client builds', 'Version, revision, compiler and gRPC version of the load clients.', 'none', [['', 'vfsload_build_info{@}']]),
      ],
    ],
  ],
});
