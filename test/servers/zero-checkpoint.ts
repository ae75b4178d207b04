import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { COLOUR_LAYERS, zeroTensors } from './zero-tensors.js';

/** Of a 16-bit float, the type of every tensor. */
const ELEMENT_BYTES = 2;

/** 1 as such a float. */
const ONE = Buffer.from([0x00, 0x3c]);
const COLOURS = 3;
/** Of a convolution of 3 by 3: the weights of one input, and the one in the middle. */
const KERNEL = 9;
const MIDDLE = 4;

/**
 * Writes a checkpoint that stable-diffusion.cpp loads as SDXS-512, the smallest of the Stable Diffusion 1 family, with
 * zero for nearly every weight: it adds nothing to the noise that it is given, and takes a second on a processor. Only the
 * autoencoder keeps the colours of a picture, an eighth as wide, so that what stays of a picture can be seen. In the format safetensors; 0.8 GB
 * long, of which a file system with sparse files stores the header alone.
 */
export function writeZeroCheckpoint(file: string): void {
  const tensors: Record<string, object> = {};
  const ones: number[] = [];
  let end = 0;
  for (const { name, shape } of zeroTensors()) {
    const begin = end;
    end += ELEMENT_BYTES * shape.reduce((product, length) => product * length, 1);
    const [, inputs = 0] = shape;
    if (COLOUR_LAYERS.includes(name))
      for (let colour = 0; colour < COLOURS; colour += 1)
        ones.push(begin + ELEMENT_BYTES * ((colour * inputs + colour) * KERNEL + MIDDLE));
    tensors[name] = { dtype: 'F16', shape, data_offsets: [begin, end] };
  }
  const header = Buffer.from(JSON.stringify(tensors));
  const headerLength = Buffer.alloc(8);
  headerLength.writeBigUInt64LE(BigInt(header.byteLength));
  const descriptor = openSync(file, 'w', 0o600);
  try {
    writeSync(descriptor, Buffer.concat([headerLength, header]));
    const dataAt = headerLength.byteLength + header.byteLength;
    ftruncateSync(descriptor, dataAt + end);
    for (const at of ones) writeSync(descriptor, ONE, 0, ELEMENT_BYTES, dataAt + at);
  } finally {
    closeSync(descriptor);
  }
}
