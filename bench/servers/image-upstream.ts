import type { IncomingMessage, ServerResponse } from 'node:http';
import sharp from 'sharp';
import { SeededIds } from '../../test/fixtures/memory-stores.js';
import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';
import { listenLocally, localServer } from './local-server.js';

/**
 * A server with the Images API of OpenAI, in a process of its own. It answers every request with one picture in base64,
 * the same PNG for all requests of one size. A picture is made once and then kept as the bytes of its answer, so that an
 * answer costs no more than sending it.
 */
const pictures = new Map<string, Promise<Picture>>();
let served = 0;

interface Picture {
  readonly byteSize: number;
  readonly base64: string;
  readonly answer: Buffer;
}

/** The request to a server with the Images API; it may have more fields. */
export interface ImagesRequest {
  readonly prompt: string;
  /** In pixels, such as `1024x1024`. */
  readonly size: string;
}

function pictureOf(size: string): Promise<Picture> {
  const known = pictures.get(size);
  if (known !== undefined) return known;
  const made = madePicture(size);
  pictures.set(size, made);
  return made;
}

async function madePicture(size: string): Promise<Picture> {
  const [widthPx, heightPx] = size.split('x').map(Number);
  if (widthPx === undefined || heightPx === undefined) throw new RangeError(`${size} is no size of a picture.`);
  const png = await sharp(pixels(widthPx * heightPx * 3), { raw: { width: widthPx, height: heightPx, channels: 3 } })
    .png({ adaptiveFiltering: true })
    .toBuffer();
  const base64 = Buffer.from(png).toString('base64');
  const data = [{ b64_json: base64 }];
  return { byteSize: png.byteLength, base64, answer: Buffer.from(JSON.stringify({ created: 1_763_913_600, data })) };
}

/** The brightest value of the slope. */
const BRIGHTNESS = 192;
/** Leaves two bits of noise from each byte. */
const NOISE_SHIFT = 6;

/**
 * A slope from dark to bright with a little noise, with three bytes per pixel. A PNG of it compresses to about nine
 * bits per pixel, so that it takes work to decode.
 */
function pixels(byteSize: number): Uint8Array {
  const noise = new SeededIds().random(byteSize);
  return noise.map((value, index) => (value >> NOISE_SHIFT) + Math.floor((BRIGHTNESS * index) / byteSize));
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(404, { 'content-length': 0 }).end();
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { size } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as ImagesRequest;
  const { answer } = await pictureOf(size);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.byteLength });
  response.end(answer);
  served += 1;
}

const server = localServer(serve);

const commands = {
  listen: () => listenLocally(server),
  /** Makes a picture of this size, if there is none yet; returns its size in bytes. */
  async prepare({ size }: Pick<ImagesRequest, 'size'>): Promise<number> {
    return (await pictureOf(size)).byteSize;
  },
  /** The picture of this size, in base64. */
  async picture({ size }: Pick<ImagesRequest, 'size'>): Promise<string> {
    return (await pictureOf(size)).base64;
  },
  /** How many pictures it has answered with. */
  served: () => served,
  usage: usageOfThisProcess,
};

export type ImageUpstreamCommands = typeof commands;

answerCommands(commands, async () => {
  server.closeAllConnections();
});
