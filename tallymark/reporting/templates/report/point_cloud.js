// What is to be known of a point cloud before it is drawn: its numbers, its ground, its heights and how far it reaches.

/** Points `{xyz: base64 of 16-bit numbers, step: metres, origin}` as `{xyz, step, origin, count, ground, heights, reach}`. */
function readPointCloud(points) {
  const bytes = dataBytes(points.xyz);
  const xyz = new Int16Array(bytes.buffer, 0, Math.floor(bytes.length / 6) * 3);
  const count = xyz.length / 3;
  const { step } = points;
  const origin = points.origin ?? [0, 0, 0];
  const stride = Math.max(1, Math.floor(count / 20000));
  const heights = [];
  const ranges = [];
  // Where the sensor stood, from the origin of the numbers.
  const sensor = [-origin[0], -origin[1]];
  for (let i = 0; i < count; i += stride) {
    heights.push(xyz[3 * i + 2] * step);
    ranges.push(Math.hypot(xyz[3 * i] * step - sensor[0], xyz[3 * i + 1] * step - sensor[1]));
  }
  const [low, ground, high] = quantiles(heights, [0.01, 0.2, 0.985]);
  const [reach] = quantiles(ranges, [0.95]);
  return {
    xyz, step, origin, count, sensor, ground,
    heights: [low, Math.max(Math.min(high, ground + 4.5), low + 3)], // of a street, not of its trees
    reach: Math.min(150, Math.max(15, reach)),
  };
}

/** Values at these shares of the sorted numbers, 0 if there are none. */
function quantiles(numbers, shares) {
  const sorted = Float64Array.from(numbers).sort();
  return shares.map(share => (sorted.length ? sorted[Math.round(share * (sorted.length - 1))] : 0));
}

/** Lines of rings around the sensor, 20 m apart, and of an arrow where it stood, pointing ahead (radians). */
function rangeLines({ sensor: [x, y], ground, reach }, forward, colour) {
  const lines = [];
  const line = (from, to, width) => lines.push({ from, to, colour, width, pattern: 'solid' });
  for (const radius of ringRadii(reach)) {
    const spot = i => [x + radius * Math.cos(i * Math.PI / 48), y + radius * Math.sin(i * Math.PI / 48), ground];
    for (let i = 0; i < 96; i++) line(spot(i), spot(i + 1), 1);
  }
  const marker = [[2.2, 0], [-1.6, 1.3], [-0.8, 0], [-1.6, -1.3]].map(([ahead, left]) => [
    x + ahead * Math.cos(forward) - left * Math.sin(forward), y + ahead * Math.sin(forward) + left * Math.cos(forward), ground,
  ]);
  marker.forEach((from, i) => line(from, marker[(i + 1) % 4], 2));
  return lines;
}

function ringRadii(reach) {
  return Array.from({ length: Math.max(1, Math.min(7, Math.ceil(reach / 20))) }, (_, i) => 20 * (i + 1));
}
