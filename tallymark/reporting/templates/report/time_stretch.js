// Makes sound longer at the same pitch, by overlap-add of the best aligned pieces (WSOLA). Played faster by the same
// factor, it has its old duration and a higher pitch.

const STRETCH_PIECE_SECONDS = 0.12; // several periods of the lowest calls, shorter than their sweep
const STRETCH_SEARCH_SECONDS = 0.015; // half a period at 33 Hz either way

/** `samples` at `rate` Hz, `factor` times as long. Reference: Verhelst and Roelands, 1993. */
function timeStretch(samples, factor, rate) {
  const hop = Math.max(8, Math.round(STRETCH_PIECE_SECONDS * rate / 2));
  if (factor === 1 || samples.length < 4 * hop) return repeatedSlowly(samples, factor);
  const window = Float32Array.from({ length: 2 * hop }, (_, i) => 0.5 - 0.5 * Math.cos(Math.PI * i / hop));
  const reach = Math.round(STRETCH_SEARCH_SECONDS * rate);
  const length = Math.round(samples.length * factor);
  const stretched = new Float32Array(length + 2 * hop);
  const last = samples.length - 2 * hop;
  let start = 0;
  for (let at = 0; at < length; at += hop) {
    for (let i = 0; i < 2 * hop; i++) stretched[at + i] += window[i] * samples[start + i];
    const wanted = Math.min(last, Math.round((at + hop) / factor));
    start = bestAligned(samples, Math.min(start + hop, last), wanted, reach, hop, last);
  }
  // The first half piece has no predecessor to overlap with.
  for (let i = 0; i < hop; i++) stretched[i] = samples[i];
  return stretched.subarray(0, length);
}

/** The start near `wanted` whose piece looks most like the natural continuation at `next`. */
function bestAligned(samples, next, wanted, reach, hop, last) {
  const stride = Math.max(1, hop >> 7);
  const low = Math.max(0, wanted - reach);
  const high = Math.min(last, wanted + reach);
  let best = coarseToFine(low, high, stride);
  best = coarseToFine(Math.max(low, best - stride + 1), Math.min(high, best + stride - 1), 1);
  return best;

  function coarseToFine(from, to, by) {
    let place = Math.min(Math.max(wanted, from), to);
    let highest = -Infinity;
    for (let start = from; start <= to; start += by) {
      let product = 0;
      let energy = 1e-12;
      for (let i = 0; i < hop; i += stride) {
        const sample = samples[start + i];
        product += sample * samples[next + i];
        energy += sample * sample;
      }
      const likeness = product / Math.sqrt(energy);
      if (likeness > highest) {
        highest = likeness;
        place = start;
      }
    }
    return place;
  }
}

/** Too short to be cut into pieces: every sample is held, which lowers its pitch. */
function repeatedSlowly(samples, factor) {
  if (factor === 1) return samples;
  return Float32Array.from({ length: Math.round(samples.length * factor) }, (_, i) => samples[Math.floor(i / factor)]);
}
