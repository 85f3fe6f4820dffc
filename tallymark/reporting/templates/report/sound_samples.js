// Samples of a WAV file for WebAudio. Browsers decode nothing below 3 kHz (hydrophone recordings have 2 kHz), so the
// file is read here, and resampled to a rate that they accept.

const SOUND_LOWEST_RATE = 16000; // linear interpolation of the browser is inaudible from here
const SOUND_BUFFER_RATES = [8000, 96000]; // what every browser must accept

/** Bytes of a `data:` address. */
function dataBytes(address) {
  const text = atob(address.slice(address.indexOf(',') + 1));
  return Uint8Array.from(text, character => character.charCodeAt(0));
}

/** First channel of a WAV file as `{samples, rate}`: whole numbers of 8 to 32 bits, or 32-bit floating point. */
function readWav(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const name = at => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 12 || name(0) !== 'RIFF' || name(8) !== 'WAVE') throw new Error('The sound is not a WAV file.');
  let format = null;
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = Math.min(view.getUint32(at + 4, true), bytes.length - at - 8);
    const body = at + 8;
    if (name(at) === 'fmt ') {
      const code = view.getUint16(body, true);
      format = {
        float: (code === 0xfffe ? view.getUint16(body + 24, true) : code) === 3,
        rate: view.getUint32(body + 4, true),
        frame: view.getUint16(body + 12, true),
        bytes: view.getUint16(body + 14, true) / 8,
      };
    }
    if (name(at) === 'data' && format) return { samples: wavSamples(view, body, size, format), rate: format.rate };
    at = body + size + size % 2;
  }
  throw new Error('The WAV file has no samples.');
}

function wavSamples(view, body, size, format) {
  const read = {
    1: at => (view.getUint8(at) - 128) / 128,
    2: at => view.getInt16(at, true) / 32768,
    3: at => (view.getUint16(at, true) + view.getInt8(at + 2) * 65536) / 8388608,
    4: at => (format.float ? view.getFloat32(at, true) : view.getInt32(at, true) / 2147483648),
  }[format.bytes];
  if (!read || !format.frame || !format.rate) throw new Error('The coding of the WAV file is unknown.');
  return Float32Array.from({ length: Math.floor(size / format.frame) }, (_, i) => read(body + i * format.frame));
}

/** Without offset and drift: hydrophones hum below what is audible, and that would take the whole range of loudness. */
function withoutOffset(samples, rate) {
  const keep = Math.exp(-2 * Math.PI * 10 / rate);
  const flat = new Float32Array(samples.length);
  for (let i = 0, before = samples[0], level = 0; i < samples.length; i++) {
    level = keep * (level + samples[i] - before);
    before = samples[i];
    flat[i] = level;
  }
  return flat;
}

/** The gain that brings all but the loudest 0.1 percent of the samples into nine tenths of the range. */
function normalisingGain(samples) {
  const stride = Math.max(1, Math.floor(samples.length / 200000));
  const loudness = [];
  for (let i = 0; i < samples.length; i += stride) loudness.push(Math.abs(samples[i]));
  const sorted = Float32Array.from(loudness).sort();
  const peak = sorted[Math.floor(0.999 * (sorted.length - 1))];
  return peak > 1e-6 ? Math.min(0.9 / peak, 10000) : 1;
}

/** Samples at a multiple of their rate, by a windowed sinc of 16 zero crossings. */
function upsampled(samples, times) {
  if (times === 1) return samples;
  const reach = 16;
  const result = new Float32Array(samples.length * times);
  for (let phase = 0; phase < times; phase++) {
    const weights = new Float32Array(2 * reach);
    for (let k = 0; k < 2 * reach; k++) {
      const x = k - reach + 1 - phase / times;
      const window = Math.cos(Math.PI * x / (2 * reach)) ** 2;
      weights[k] = x === 0 ? 1 : window * Math.sin(Math.PI * x) / (Math.PI * x);
    }
    for (let i = 0; i < samples.length; i++) {
      let sum = 0;
      const from = Math.max(0, reach - 1 - i);
      const to = Math.min(2 * reach, samples.length - i + reach - 1);
      for (let k = from; k < to; k++) sum += weights[k] * samples[i + k - reach + 1];
      result[i * times + phase] = sum;
    }
  }
  return result;
}

/** A WAV address as `{samples, rate, duration, gain}`. */
function decodeSound(address) {
  const { samples, rate } = readWav(dataBytes(address));
  if (!samples.length) throw new Error('The WAV file has no samples.');
  const flat = withoutOffset(samples, rate);
  return { samples: flat, rate, duration: samples.length / rate, gain: normalisingGain(flat) };
}

/** The sound, longer by the factor 2 ** octaves, for a source that plays it faster by as much. */
function soundBuffer(sound, octaves) {
  const times = Math.max(1, Math.ceil(SOUND_LOWEST_RATE / sound.rate));
  const samples = upsampled(timeStretch(sound.samples, 2 ** octaves, sound.rate), times);
  const [lowest, highest] = SOUND_BUFFER_RATES;
  const sampleRate = Math.min(Math.max(sound.rate * times, lowest), highest);
  const buffer = new AudioBuffer({ length: samples.length, sampleRate });
  buffer.copyToChannel(samples, 0);
  return buffer;
}
