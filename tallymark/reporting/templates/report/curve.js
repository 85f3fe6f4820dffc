// The curve of the score against the threshold, with a marker that can be dragged.
const CURVE_HEIGHT = 190;
const CURVE_MARGIN = {left: 46, right: 12, top: 14, bottom: 26};
const CURVE_SAMPLES = 240;

function makeCurve(name) {
  const svg = svgEl('svg', {class: 'curve', role: 'img', 'aria-label': `${name} against the threshold`});
  const {left, right, top, bottom} = CURVE_MARGIN;
  const [low, high] = model.range;
  let width = 0, x = null, y = null;

  function draw() {
    width = Math.max(260, svg.parentElement.clientWidth || 560);
    svg.setAttribute('viewBox', `0 0 ${width} ${CURVE_HEIGHT}`);
    svg.setAttribute('height', CURVE_HEIGHT);
    x = threshold => left + (threshold - low) / (high - low) * (width - left - right);
    const points = [];
    for (let at = 0; at <= CURVE_SAMPLES; at++) {
      const threshold = low + (high - low) * at / CURVE_SAMPLES;
      const value = model.scoreAt(threshold);
      if (Number.isFinite(value)) points.push([threshold, value]);
    }
    const values = points.map(point => point[1]);
    const [from, to, step] = niceRange(Math.min(...values), Math.max(...values));
    y = value => top + (to - value) / (to - from) * (CURVE_HEIGHT - top - bottom);
    const path = points.map(([threshold, value]) => `${x(threshold).toFixed(1)} ${y(value).toFixed(1)}`).join('L');
    svg.replaceChildren(
      ...ticks(from, to, step).map(value => svgEl('g', {},
        svgEl('line', {class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value)}),
        svgEl('text', {x: left - 7, y: y(value) + 4, 'text-anchor': 'end'}, tickText(value, step)))),
      ...ticks(low, high, niceStep((high - low) / 5)).map(value => svgEl('text', {
        x: x(value), y: CURVE_HEIGHT - 8, 'text-anchor': 'middle',
      }, formatThreshold(value))),
      points.length > 0 && svgEl('path', {class: 'area', d: `M${path}V${CURVE_HEIGHT - bottom}H${left}Z`}),
      points.length > 0 && svgEl('path', {class: 'line', d: `M${path}`}),
      svgEl('line', {class: 'initial', ...upright(x(initialThreshold)), y1: top, y2: CURVE_HEIGHT - bottom}),
      svgEl('line', {class: 'marker', y1: top - 6, y2: CURVE_HEIGHT - bottom}),
      svgEl('circle', {class: 'marker', r: 5.5}));
    move();
  }

  function move() {
    if (!x) return;
    const at = x(state.threshold);
    const value = model.scoreAt(state.threshold);
    const line = svg.querySelector('line.marker'), dot = svg.querySelector('circle.marker');
    line.setAttribute('x1', at);
    line.setAttribute('x2', at);
    dot.setAttribute('cx', at);
    dot.setAttribute('cy', Number.isFinite(value) ? y(value) : CURVE_HEIGHT - bottom);
  }

  function pick(event) {
    const box = svg.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width * width;
    setThreshold(roundedThreshold(low + (across - left) / (width - left - right) * (high - low)));
  }
  svg.addEventListener('pointerdown', event => {
    svg.setPointerCapture(event.pointerId);
    pick(event);
  });
  svg.addEventListener('pointermove', event => { if (event.buttons & 1) pick(event); });
  new ResizeObserver(() => { if (svg.parentElement?.clientWidth !== width) draw(); }).observe(svg);
  listen('threshold', move);
  listen('k', draw);
  return svg;
}

function upright(x) {
  return {x1: x, x2: x};
}

function roundedThreshold(threshold) {
  const [low, high] = model.range;
  const step = niceStep((high - low) / 1000);
  return Number((Math.round(threshold / step) * step).toPrecision(12));
}

// A range with round ends around the values, and the step between its ticks. If all are the same, it begins at 0.
function niceRange(low, high) {
  if (!Number.isFinite(low)) return [0, 1, 0.5];
  if (high - low < 1e-6) [low, high] = [Math.min(0, low), Math.max(0, high) || 1];
  const step = niceStep(Math.max(high - low, Math.abs(high) * 0.02, 1e-6) / 3);
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step || step, step];
}

function ticks(from, to, step) {
  const count = Math.round((to - from) / step);
  return Array.from({length: count + 1}, (_, at) => from + at * step);
}

function tickText(value, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return digits === 0 ? formatCount(value) : value.toFixed(digits);
}
