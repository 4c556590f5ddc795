// What all dashboards are put together from: panels with a title, a description
// and a unit, queries with the selector that the variables make, rows that fill
// the grid from left to right.
//
// In an expression @ stands for that selector, `job=~"$job",instance=~"$instance"`,
// so that no query forgets it.
'use strict';

const sdk = (part) => require(`@grafana/grafana-foundation-sdk/${part}`);
const common = sdk('common');
const dashboard = sdk('dashboard');
const prometheus = sdk('prometheus');

const SELECTOR = 'job=~"$job",instance=~"$instance"';
const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' };
const GRID_WIDTH = 24;

const expand = (expression) => expression.replaceAll('@', SELECTOR);

function query([legend, expression], index, options = {}) {
  const builder = new prometheus.DataqueryBuilder()
    .refId(String.fromCharCode('A'.charCodeAt(0) + index))
    .datasource(DATA_SOURCE)
    .expr(expand(expression))
    .legendFormat(legend);
  if (options.heatmap) builder.format(prometheus.PromQueryFormat.Heatmap);
  if (options.table) builder.format(prometheus.PromQueryFormat.Table);
  return options.instant ? builder.instant() : builder.range();
}

// One panel: kind, title, description, unit and queries ([legend, expression]).
function panel(kind, width, height, options, title, description, unit, queries) {
  const builder = new (sdk(kind).PanelBuilder)()
    .title(title)
    .description(description)
    .datasource(DATA_SOURCE)
    .unit(unit)
    .height(height)
    .span(width);
  queries.forEach((one, index) => builder.withTarget(query(one, index, options)));
  return builder;
}

// A line chart; three, or two, stand side by side.
function lines(width, ...rest) {
  return panel('timeseries', width, 8, {}, ...rest)
    .lineWidth(1)
    .fillOpacity(10)
    .showPoints(common.VisibilityMode.Never)
    .min(0)
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(
      new common.VizTooltipOptionsBuilder()
        .mode(common.TooltipDisplayMode.Multi)
        .sort(common.SortOrder.Descending),
    );
}

// One figure of now.
function figure(width, ...rest) {
  return panel('stat', width, 4, {}, ...rest)
    .colorMode(common.BigValueColorMode.Value)
    .graphMode(common.BigValueGraphMode.Area)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).fields('').values(false));
}

// Figures that turn red above a limit.
const redAbove = (limit) =>
  new dashboard.ThresholdsConfigBuilder()
    .mode(dashboard.ThresholdsMode.Absolute)
    .steps([
      { value: null, color: 'green' },
      { value: limit, color: 'red' },
    ]);

function heatmap(width, ...rest) {
  return panel('heatmap', width, 8, { heatmap: true }, ...rest)
    .calculate(false)
    .yAxis(new (sdk('heatmap').YAxisConfigBuilder)().unit(rest[2]).axisPlacement(common.AxisPlacement.Left));
}

// Labels of info metrics, a row a process.
function table(width, height, ...rest) {
  return panel('table', width, height, { table: true, instant: true }, ...rest).withTransformation({
    id: 'organize',
    options: { excludeByName: { Time: true, Value: true, __name__: true, job: true } },
  });
}

// On and off over time.
function states(width, ...rest) {
  return panel('statetimeline', width, 8, {}, ...rest)
    .mappings([
      {
        type: dashboard.MappingType.ValueToText,
        options: { 0: { text: 'no', color: 'text', index: 0 }, 1: { text: 'yes', color: 'green', index: 1 } },
      },
    ]);
}

const QUANTILES = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
  ['p99.9', 0.999],
];

// Queries of the usual quantiles of a histogram, NAME{SELECTOR}.
const quantiles = (name, selector = '@') =>
  QUANTILES.map(([legend, q]) => [
    legend,
    `histogram_quantile(${q}, sum by (le) (rate(${name}_bucket{${selector}}[$__rate_interval])))`,
  ]);

// A variable with the values of a label of some series ("metric{matchers}").
function labelVariable(name, label, series) {
  const expression = `label_values(${series}, ${name})`;
  return new dashboard.QueryVariableBuilder(name)
    .label(label)
    .datasource(DATA_SOURCE)
    .query({ query: expression, refId: name })
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .sort(dashboard.VariableSort.AlphabeticalAsc);
}

// As labelVariable; all values are chosen at first.
const labelVariableAll = (...rest) =>
  labelVariable(...rest)
    .multi(true)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: 'All', value: '$__all' });

// Warm-up and measurement of the load as shaded regions in every chart.
const phase = (name, color) =>
  new dashboard.AnnotationQueryBuilder()
    .name(name)
    .datasource(DATA_SOURCE)
    .enable(true)
    .hide(false)
    .iconColor(color)
    .expr(`max by (instance) (vfsload_phase{phase="${name}"}) == 1`);

// A dashboard of rows ([title, panels]). `known` names the metrics that tell the
// variables which processes there are.
function make({ uid, title, description, known, variables = [], rows }) {
  const builder = new dashboard.DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['vfsd'])
    .readonly()
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .time({ from: 'now-15m', to: 'now' })
    .refresh('5s')
    .timezone('browser')
    .version(1)
    .link(
      new dashboard.DashboardLinkBuilder('vfsd dashboards')
        .type(dashboard.DashboardLinkType.Dashboards)
        .tags(['vfsd'])
        .asDropdown(true)
        .keepTime(true)
        .includeVars(false),
    )
    .annotation(phase('warmup', 'yellow'))
    .annotation(phase('measure', 'blue'))
    .withVariable(
      new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
    )
    .withVariable(labelVariableAll('job', 'Job', `{__name__=~"${known}"}`))
    .withVariable(labelVariableAll('instance', 'Instance', `{__name__=~"${known}",job=~"$job"}`));
  variables.forEach((variable) => builder.withVariable(variable));
  for (const [rowTitle, panels] of rows) {
    builder.withRow(new dashboard.RowBuilder(rowTitle));
    panels.forEach((one) => builder.withPanel(one));
  }
  const built = builder.build();
  built.id = null;
  // What variables of other types have; the schema knows it of none.
  for (const variable of built.templating.list) {
    delete variable.auto;
    delete variable.auto_min;
    delete variable.auto_count;
  }
  // Grafana's Prometheus asks for annotations once a minute otherwise, and a
  // load test is shorter. The SDK has no setter for it.
  built.annotations.list.forEach((annotation) => {
    annotation.step = '1s';
    annotation.titleFormat = annotation.name;
  });
  return layOut(built);
}

// Rows break where the grid's width is full.
function layOut(built) {
  let x = 0;
  let y = 0;
  let height = 0;
  built.panels.forEach((one, index) => {
    one.id = index + 1;
    const size = one.type === 'row' ? { w: GRID_WIDTH, h: 1 } : one.gridPos;
    if (x + size.w > GRID_WIDTH) {
      x = 0;
      y += height;
      height = 0;
    }
    one.gridPos = { h: size.h, w: size.w, x, y };
    x += size.w;
    height = Math.max(height, size.h);
  });
  return built;
}

module.exports = { lines, figure, heatmap, table, states, quantiles, redAbove, make, labelVariable };
