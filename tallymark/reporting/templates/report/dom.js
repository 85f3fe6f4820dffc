// Builds elements and writes numbers. Text goes in as text only, so that a name from a file stays a name.
const SVG = 'http://www.w3.org/2000/svg';

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

// el('button', {class: 'chip', onclick: open}, 'text', child): attributes named on... are listeners.
function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svgEl(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function plural(count, one, many = `${one}s`) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

function formatCount(count) {
  return Math.round(count).toLocaleString('en-US');
}

function formatScore(value, digits = 4) {
  return Number.isFinite(value) ? value.toFixed(digits) : '–';
}

function formatPercent(share) {
  return Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : '–';
}

// A threshold without the noise of binary fractions: 0.43, not 0.43000000000000005.
function formatThreshold(value) {
  return String(Number(value.toPrecision(6)));
}

function formatClock(seconds) {
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - 60 * minutes).toFixed(1).padStart(4, '0');
  const hours = Math.floor(minutes / 60);
  return hours ? `${hours}:${String(minutes % 60).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}
