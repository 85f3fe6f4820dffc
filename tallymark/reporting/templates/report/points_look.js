// Colours of the 3D view as the page's style sheet has them now, light or dark, and the legend of heights.

/** Bytes of any colour that a style sheet can say. */
function cssBytes(text) {
  const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  context.fillStyle = text;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
}

/** Heights in metres, the ramp of their colours, the colour of the ground (0..1), and `colour(name)`: bytes of `--points-NAME`. */
function pointsLook(stage, cloud) {
  const style = getComputedStyle(stage);
  const [red, green, blue] = cssBytes(style.backgroundColor);
  const dark = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  const known = new Map();
  const colour = name => {
    if (!known.has(name)) {
      const text = style.getPropertyValue(`--points-${name}`) || style.getPropertyValue('--points-unknown');
      known.set(name, cssBytes(text.trim() || 'gray'));
    }
    return known.get(name);
  };
  const ground = [red / 255, green / 255, blue / 255];
  return { heights: cloud.heights, ramp: HEIGHT_RAMPS[dark ? 'dark' : 'light'], ground, colour };
}

/** The colours of the points beside their heights above the ground, in metres. */
function drawHeightLegend(legend, cloud, { ramp: [low, high], heights }) {
  const stops = [0, 0.25, 0.5, 0.75, 1].map(share => {
    const [lightness, chroma, hue] = low.map((value, i) => value + (high[i] - value) * share);
    return `oklch(${lightness} ${chroma} ${hue})`;
  });
  const bar = viewerElement('i');
  bar.style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  const metres = height => `${(height - cloud.ground).toFixed(1).replace('-', '−')} m`;
  legend.replaceChildren(viewerElement('span', '', metres(heights[0])), bar, viewerElement('span', '', metres(heights[1])));
  legend.title = 'colour of the points: height above the ground';
}
