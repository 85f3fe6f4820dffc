// Makes sound longer at the same pitch, by overlap-add of its short-time spectra (a phase vocoder). Played faster by
// the same factor, it has its old duration and a higher pitch.

const STRETCH_SIZE = 256; // samples of a window: 128 ms of a hydrophone at 2 kHz, short beside a sweep
const STRETCH_SECONDS = 0.04; // of a window at least, for recordings at higher rates
const STRETCH_OVERLAP = 4;

/** `samples` at `rate` Hz, `factor` times as long, with phases locked to peaks: Laroche and Dolson, 1999. */
function timeStretch(samples, factor, rate) {
  if (factor === 1) return samples;
  let size = STRETCH_SIZE;
  while (size < STRETCH_SECONDS * rate) size *= 2;
  const fourier = new FourierTransform(size);
  const window = Float64Array.from({ length: size }, (_, i) => 0.5 - 0.5 * Math.cos(2 * Math.PI * i / size));
  const hop = size / STRETCH_OVERLAP; // of the result
  const length = Math.round(samples.length * factor);
  const result = new Float32Array(length);
  const weight = new Float32Array(length);
  const phases = new StretchedPhases(size, hop);
  const real = new Float64Array(size);
  const imaginary = new Float64Array(size);
  for (let to = hop - size; to < length; to += hop) {
    // The middle of a window is where it was, times the factor.
    const from = Math.round((to + size / 2) / factor - size / 2);
    for (let i = 0; i < size; i++) {
      const at = from + i;
      real[i] = at >= 0 && at < samples.length ? window[i] * samples[at] : 0;
    }
    imaginary.fill(0);
    fourier.run(real, imaginary);
    phases.turn(real, imaginary, from);
    fourier.run(imaginary, real); // real and imaginary parts exchanged: the inverse
    for (let i = Math.max(0, -to); i < size && to + i < length; i++) {
      result[to + i] += window[i] * real[i] / size;
      weight[to + i] += window[i] * window[i];
    }
  }
  return result.map((value, i) => value / Math.max(weight[i], 1e-3));
}

/** Turns the spectrum of each window so that it continues the one before in the stretched sound. */
class StretchedPhases {
  constructor(size, hop) {
    this.size = size;
    this.hop = hop;
    this.half = size / 2;
    this.heard = new Float64Array(this.half + 1); // phases of the last window
    this.made = new Float64Array(this.half + 1); // and what they became
    this.loudness = new Float64Array(this.half + 1);
    this.last = null; // where the last window was
  }

  turn(real, imaginary, from) {
    const { half, size, hop, heard, made, loudness } = this;
    for (let k = 0; k <= half; k++) loudness[k] = real[k] * real[k] + imaginary[k] * imaginary[k];
    const peaks = this.peaks();
    const moved = this.last === null ? 0 : from - this.last;
    const phase = k => Math.atan2(imaginary[k], real[k]);
    let start = 0;
    peaks.forEach((peak, i) => {
      const end = i + 1 < peaks.length ? (peak + peaks[i + 1]) >> 1 : half;
      const now = phase(peak);
      let turned = 0;
      if (moved > 0) {
        const expected = 2 * Math.PI * peak * moved / size;
        const off = now - heard[peak] - expected;
        const advance = expected + off - 2 * Math.PI * Math.round(off / (2 * Math.PI));
        turned = made[peak] + advance * hop / moved - now;
      }
      const [cosine, sine] = [Math.cos(turned), Math.sin(turned)];
      for (let k = start; k <= end; k++) {
        heard[k] = phase(k);
        made[k] = heard[k] + turned;
        const x = real[k];
        real[k] = x * cosine - imaginary[k] * sine;
        imaginary[k] = x * sine + imaginary[k] * cosine;
      }
      start = end + 1;
    });
    // The other half of the spectrum of a real signal.
    imaginary[0] = 0;
    imaginary[half] = 0;
    for (let k = 1; k < half; k++) {
      real[size - k] = real[k];
      imaginary[size - k] = -imaginary[k];
    }
    this.last = from;
  }

  /** Bins that are louder than two on either side; at least one. */
  peaks() {
    const { half, loudness } = this;
    const peaks = [];
    for (let k = 2; k < half - 1; k++) {
      const value = loudness[k];
      const above = value > loudness[k - 1] && value > loudness[k - 2];
      if (above && value >= loudness[k + 1] && value >= loudness[k + 2]) peaks.push(k);
    }
    return peaks.length ? peaks : [1];
  }
}

/** The discrete Fourier transform of a power of two complex numbers, in place. */
class FourierTransform {
  constructor(size) {
    this.size = size;
    this.cosines = Float64Array.from({ length: size / 2 }, (_, i) => Math.cos(2 * Math.PI * i / size));
    this.sines = Float64Array.from({ length: size / 2 }, (_, i) => Math.sin(2 * Math.PI * i / size));
    this.reversed = new Uint32Array(size);
    for (let i = 1; i < size; i++) this.reversed[i] = (this.reversed[i >> 1] >> 1) | (i & 1 ? size >> 1 : 0);
  }

  run(real, imaginary) {
    const { size, cosines, sines, reversed } = this;
    for (let i = 0; i < size; i++) {
      const j = reversed[i];
      if (j <= i) continue;
      const x = real[i];
      const y = imaginary[i];
      real[i] = real[j];
      imaginary[i] = imaginary[j];
      real[j] = x;
      imaginary[j] = y;
    }
    for (let half = 1; half < size; half *= 2) {
      const stride = size / (2 * half);
      for (let block = 0; block < size; block += 2 * half) {
        for (let i = 0; i < half; i++) {
          const a = block + i;
          const b = a + half;
          const cosine = cosines[i * stride];
          const sine = sines[i * stride];
          const x = real[b] * cosine + imaginary[b] * sine;
          const y = imaginary[b] * cosine - real[b] * sine;
          real[b] = real[a] - x;
          imaginary[b] = imaginary[a] - y;
          real[a] += x;
          imaginary[a] += y;
        }
      }
    }
  }
}
