// The server: what it is asked, how well it answers, what it holds, what it uses.
'use strict';

const { lines, figure, heatmap, table, states, quantiles, redAbove, make } = require('./parts');

const UNARY = '@,grpc_type="unary"';

module.exports = make({
  uid: 'vfsd-server',
  title: 'vfsd: server',
  description: 'Rates, errors and latency of vfsd, its VFS core with the fast paths, memory and process.',
  known: 'vfsd_build_info',
  rows: [
    [
      'At a glance',
      [
        figure(4, 'Operations', 'Operations a second, unary and batched, right and failed.', 'ops', [
          ['operations', 'sum(rate(vfs_ops_total{@}[$__rate_interval]))'],
        ]),
        figure(4, 'Failed calls', 'Share of calls that ended in a failure of the server itself: Unknown, Internal, Unavailable, DataLoss or DeadlineExceeded. An answer such as ENOENT is none.', 'percentunit', [
          ['failed', 'sum(rate(grpc_server_handled_total{@,grpc_code=~"Unknown|Internal|Unavailable|DataLoss|DeadlineExceeded"}[$__rate_interval])) / sum(rate(grpc_server_handled_total{@}[$__rate_interval]))'],
        ]).thresholds(redAbove(0.01)),
        figure(4, 'Calls over 10 ms', 'Share of unary calls that the server took longer than 10 ms for; the objective is at most 1 %.', 'percentunit', [
          ['slow', `1 - sum(rate(grpc_server_handling_seconds_bucket{${UNARY},le="0.01"}[$__rate_interval])) / sum(rate(grpc_server_handling_seconds_count{${UNARY}}[$__rate_interval]))`],
        ]).thresholds(redAbove(0.01)),
        figure(4, 'CPU per operation', 'CPU time of the server divided by its operations: what an operation costs.', 's', [
          ['CPU', 'sum(rate(process_cpu_seconds_total{@}[$__rate_interval])) / sum(rate(vfs_ops_total{@}[$__rate_interval]))'],
        ]),
        figure(4, 'Open handles now', 'Open handles of all sessions.', 'none', [['handles', 'sum(vfs_open_handles{@})']]),
        figure(4, 'Resident memory now', 'Memory of the server that is in RAM.', 'bytes', [
          ['resident', 'sum(process_resident_memory_bytes{@})'],
        ]),
      ],
    ],
    [
      'Rate, errors, duration',
      [
        lines(8, 'Operations by kind', 'Operations a second by kind; a batched operation counts like a unary one.', 'ops', [
          ['{{op}}', 'sum by (op) (rate(vfs_ops_total{@}[$__rate_interval])) > 0'],
        ]),
        lines(8, 'Operations by result', 'Operations a second by result: ok, or the name of the Linux error.', 'ops', [
          ['{{result}}', 'sum by (result) (rate(vfs_ops_total{@}[$__rate_interval])) > 0'],
        ]),
        lines(8, 'Calls by method', 'gRPC calls a second by method; a stream counts once, when it ends.', 'reqps', [
          ['{{grpc_method}}', 'sum by (grpc_method) (rate(grpc_server_handled_total{@}[$__rate_interval])) > 0'],
        ]),
        lines(8, 'Calls by code', 'gRPC calls a second that did not end with OK, by code. NotFound is an everyday answer here.', 'reqps', [
          ['{{grpc_code}}', 'sum by (grpc_code) (rate(grpc_server_handled_total{@,grpc_code!="OK"}[$__rate_interval]))'],
        ]),
        lines(8, 'Calls begun and ended', 'Calls that begin and calls that end, a second. Where they part, calls pile up.', 'reqps', [
          ['begun', 'sum(rate(grpc_server_started_total{@}[$__rate_interval]))'],
          ['ended', 'sum(rate(grpc_server_handled_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'Calls in flight', 'Calls that have begun and not ended, by method; streams count as long as they are open.', 'none', [
          ['{{grpc_method}}', 'sum by (grpc_method) (vfsd_inflight_requests{@})'],
        ]),
        lines(8, 'Duration of calls', 'Time from the arrival of a unary call to its answer.', 's', quantiles('grpc_server_handling_seconds', UNARY)),
        lines(8, 'Duration by method (p99)', '99 % of the unary calls of each method take no longer than this.', 's', [
          ['{{grpc_method}}', `histogram_quantile(0.99, sum by (le, grpc_method) (rate(grpc_server_handling_seconds_bucket{${UNARY}}[$__rate_interval])))`],
        ]),
        heatmap(8, 'Durations', 'How many unary calls a second took how long.', 's', [
          ['{{le}}', `sum by (le) (rate(grpc_server_handling_seconds_bucket{${UNARY}}[$__rate_interval]))`],
        ]),
        lines(12, 'Messages of streams', 'Messages a second on batch streams, in and out.', 'ops', [
          ['{{grpc_method}} in', 'sum by (grpc_method) (rate(grpc_server_msg_received_total{@}[$__rate_interval]))'],
          ['{{grpc_method}} out', 'sum by (grpc_method) (rate(grpc_server_msg_sent_total{@}[$__rate_interval]))'],
        ]),
        lines(12, 'Time in the core (p99)', 'Time in the VFS core, without the network, of a sample of operations.', 's', [
          ['{{op}}', 'histogram_quantile(0.99, sum by (le, op) (rate(vfs_op_duration_seconds_bucket{@}[$__rate_interval])))'],
        ]),
      ],
    ],
    [
      'The core and its fast paths',
      [
        lines(8, 'Fast path hits', 'Operations a second that took each fast path.', 'ops', [
          ['{{fast_path}}', 'sum by (fast_path) (rate(vfs_fast_path_hits_total{@}[$__rate_interval]))'],
        ]),
        states(8, 'Fast path switches', 'Which fast paths are switched on.', 'none', [
          ['{{fast_path}}', 'max by (fast_path) (vfs_fast_path_enabled{@})'],
        ]),
        lines(8, 'General path', 'Files a second that are given back through the deferred list, and never-opened files that somebody else held (never, unless there is a bug).', 'ops', [
          ['deferred files', 'sum(rate(vfs_deferred_files_total{@}[$__rate_interval]))'],
          ['extra references', 'sum(rate(vfs_never_opened_extra_references_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'Path walks', 'Path walks a second by the walk that answered: without locks, or with them.', 'ops', [
          ['{{walk}}', 'sum by (walk) (rate(vfs_walks_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'Open handles and files', 'Open handles of all sessions, and file objects in memory with those on their way in or out.', 'none', [
          ['handles', 'sum(vfs_open_handles{@})'],
          ['files', 'sum(vfs_files{@})'],
        ]),
        lines(8, 'Sessions', 'Open sessions, and sessions a second whose lease lapsed.', 'none', [
          ['open', 'sum(vfs_sessions{@})'],
          ['lapsed a second', 'sum(rate(vfs_sessions_expired_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'Limits used', 'Share of the limits on open files, sessions and file descriptors; at 100 % new ones fail.', 'percentunit', [
          ['files', 'max(vfs_files{@} / vfs_files_limit{@})'],
          ['sessions', 'max(vfs_sessions{@} / vfs_sessions_limit{@})'],
          ['descriptors', 'max(process_open_fds{@} / process_max_fds{@})'],
        ]).max(1),
        lines(8, 'Inodes', 'Inodes in memory by type.', 'none', [['{{type}}', 'sum by (type) (vfs_inodes{@})']]),
        lines(8, 'Names and mounts', 'Names (dentries) in memory, and mounts.', 'none', [
          ['names', 'sum(vfs_dentries{@})'],
          ['mounts', 'sum(vfs_mounts{@})'],
        ]),
      ],
    ],
    [
      'Memory and process',
      [
        lines(8, 'CPU', 'CPUs in use by each server.', 'none', [
          ['{{instance}}', 'sum by (instance) (rate(process_cpu_seconds_total{@}[$__rate_interval]))'],
        ]),
        lines(8, 'Memory', 'Resident memory of each server, and its address space.', 'bytes', [
          ['{{instance}} resident', 'sum by (instance) (process_resident_memory_bytes{@})'],
          ['{{instance}} virtual', 'sum by (instance) (process_virtual_memory_bytes{@})'],
        ]),
        lines(8, 'Memory per name', 'Resident memory divided by the names in memory.', 'bytes', [
          ['{{instance}}', 'sum by (instance) (process_resident_memory_bytes{@}) / sum by (instance) (vfs_dentries{@})'],
        ]),
        lines(8, 'Threads', 'Threads of each server; they follow the CPUs that it may use.', 'none', [
          ['{{instance}}', 'sum by (instance) (process_threads{@})'],
        ]),
        lines(8, 'File descriptors', 'Open file descriptors, and how many there may be.', 'none', [
          ['{{instance}} open', 'sum by (instance) (process_open_fds{@})'],
          ['{{instance}} limit', 'sum by (instance) (process_max_fds{@})'],
        ]),
        lines(8, 'Uptime', 'Time since each server started; where it falls to zero, it restarted.', 's', [
          ['{{instance}}', 'time() - process_start_time_seconds{@}'],
        ]),
        table(12, 6, 'Builds', 'Version, revision, compiler and gRPC version of each server.', 'none', [['', 'vfsd_build_info{@}']]),
        table(12, 6, 'Configurations', 'How each server was started: CPUs that it may use, queues, fast paths, credentials.', 'none', [['', 'vfsd_config_info{@}']]),
      ],
    ],
  ],
});
