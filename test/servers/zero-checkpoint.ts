import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';

/** A tensor of a checkpoint, its shape with the output dimension first. */
export interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
}

type Tensors = readonly Tensor[];

const CONTEXT = 768;
const TIME_EMBEDDING = 1_280;

/** The convolutions that a picture passes on its way through the small autoencoder; its blocks add to what passes them. */
export const COLOUR_LAYERS: readonly string[] = [
  ...[0, 2, 6, 10, 14].map((layer) => `tae.encoder.layers.${layer}.weight`),
  ...[0, 6, 11, 16, 18].map((layer) => `tae.decoder.layers.${layer}.weight`),
];

/** The tensors of SDXS-512: the denoiser, the text encoder and the small autoencoder. */
export function zeroTensors(): Tensors {
  return [
    ...below('model.diffusion_model', denoiser()),
    ...below('cond_stage_model.transformer.text_model', textEncoder()),
    ...below('tae.encoder.layers', pictureEncoder()),
    ...below('tae.decoder.layers', pictureDecoder()),
  ];
}

function denoiser(): Tensors {
  return [
    ...linear('time_embed.0', 320, TIME_EMBEDDING),
    ...linear('time_embed.2', TIME_EMBEDDING, TIME_EMBEDDING),
    ...convolution('input_blocks.0.0', 4, 320),
    ...residual('input_blocks.1.0', 320, 320),
    ...convolution('input_blocks.3.0.op', 320, 320),
    ...residual('input_blocks.4.0', 320, 640),
    ...transformer('input_blocks.4.1', 640),
    ...convolution('input_blocks.6.0.op', 640, 640),
    ...residual('input_blocks.7.0', 640, 1_280),
    ...transformer('input_blocks.7.1', 1_280),
    ...residual('output_blocks.0.0', 2_560, 1_280),
    ...transformer('output_blocks.0.1', 1_280),
    ...residual('output_blocks.1.0', 1_920, 1_280),
    ...transformer('output_blocks.1.1', 1_280),
    ...convolution('output_blocks.2.1.conv', 1_280, 1_280),
    ...residual('output_blocks.3.0', 1_920, 640),
    ...transformer('output_blocks.3.1', 640),
    ...residual('output_blocks.4.0', 960, 640),
    ...transformer('output_blocks.4.1', 640),
    ...convolution('output_blocks.5.2.conv', 640, 640),
    ...residual('output_blocks.6.0', 960, 320),
    ...residual('output_blocks.7.0', 640, 320),
    ...norm('out.0', 320),
    ...convolution('out.2', 320, 4),
  ];
}

function residual(name: string, from: number, to: number): Tensors {
  return below(name, [
    ...norm('in_layers.0', from),
    ...convolution('in_layers.2', from, to),
    ...linear('emb_layers.1', TIME_EMBEDDING, to),
    ...norm('out_layers.0', to),
    ...convolution('out_layers.3', to, to),
    ...(from === to ? [] : convolution('skip_connection', from, to, 1)),
  ]);
}

function transformer(name: string, width: number): Tensors {
  return below(name, [
    ...norm('norm', width),
    ...convolution('proj_in', width, width, 1),
    ...below('transformer_blocks.0', [
      ...attention('attn1', width, width),
      ...attention('attn2', width, CONTEXT),
      ...linear('ff.net.0.proj', width, width * 8),
      ...linear('ff.net.2', width * 4, width),
      ...[1, 2, 3].flatMap((number) => norm(`norm${number}`, width)),
    ]),
    ...convolution('proj_out', width, width, 1),
  ]);
}

function attention(name: string, width: number, context: number): Tensors {
  return below(name, [
    weight('to_q', width, width),
    weight('to_k', width, context),
    weight('to_v', width, context),
    ...linear('to_out.0', width, width),
  ]);
}

function textEncoder(): Tensors {
  return [
    weight('embeddings.token_embedding', 49_408, CONTEXT),
    weight('embeddings.position_embedding', 77, CONTEXT),
    ...Array.from({ length: 12 }, (_, layer) => textLayer(`encoder.layers.${layer}`)).flat(),
    ...norm('final_layer_norm', CONTEXT),
  ];
}

function textLayer(name: string): Tensors {
  return below(name, [
    ...['q_proj', 'k_proj', 'v_proj', 'out_proj'].flatMap((part) => linear(`self_attn.${part}`, CONTEXT, CONTEXT)),
    ...norm('layer_norm1', CONTEXT),
    ...norm('layer_norm2', CONTEXT),
    ...linear('mlp.fc1', CONTEXT, 3_072),
    ...linear('mlp.fc2', 3_072, CONTEXT),
  ]);
}

/** Three halvings of the picture, each followed by three blocks. */
function pictureEncoder(): Tensors {
  const halvings = [2, 6, 10];
  return [
    ...convolution('0', 3, 64),
    ...pictureBlock('1'),
    ...halvings.flatMap((at) => [
      weight(`${at}`, 64, 64, 3, 3),
      ...[1, 2, 3].flatMap((next) => pictureBlock(`${at + next}`)),
    ]),
    ...convolution('14', 64, 4),
  ];
}

/** Three groups of three blocks, each followed by a doubling without weights and a convolution. */
function pictureDecoder(): Tensors {
  const groups = [2, 7, 12];
  return [
    ...convolution('0', 4, 64),
    ...groups.flatMap((at) => [
      ...[0, 1, 2].flatMap((next) => pictureBlock(`${at + next}`)),
      weight(`${at + 4}`, 64, 64, 3, 3),
    ]),
    ...pictureBlock('17'),
    ...convolution('18', 64, 3),
  ];
}

function pictureBlock(name: string): Tensors {
  return below(
    name,
    [0, 2, 4].flatMap((part) => convolution(`conv.${part}`, 64, 64)),
  );
}

function linear(name: string, from: number, to: number): Tensors {
  return [weight(name, to, from), bias(name, to)];
}

function convolution(name: string, from: number, to: number, side = 3): Tensors {
  return [weight(name, to, from, side, side), bias(name, to)];
}

function norm(name: string, width: number): Tensors {
  return [weight(name, width), bias(name, width)];
}

function weight(name: string, ...shape: number[]): Tensor {
  return { name: `${name}.weight`, shape };
}

function bias(name: string, width: number): Tensor {
  return { name: `${name}.bias`, shape: [width] };
}

function below(name: string, tensors: Tensors): Tensors {
  return tensors.map((tensor) => ({ ...tensor, name: `${name}.${tensor.name}` }));
}

/** The size of a 16-bit float, the type of every tensor. */
const ELEMENT_BYTES = 2;

/** 1 as such a float. */
const ONE = Buffer.from([0x00, 0x3c]);
const COLOURS = 3;
/** For a 3-by-3 convolution, the number of weights of one input and the index of the middle one. */
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
