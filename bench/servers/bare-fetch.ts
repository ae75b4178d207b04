import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { answerCommands } from '../child.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';
import type { ImagesRequest } from './image-upstream.js';

/**
 * The control for pictures and videos, in a separate process: it calls a server with the Images API, parses the
 * response, decodes the picture's base64 and writes it to a file in the folder named on the command line; or it calls
 * one with the Videos API, and streams the video to such a file. It does no checks, stores no record and does not
 * sync.
 */
const [folder = ''] = process.argv.slice(2);

export interface Fetching {
  /** The base URL of the server's API. */
  readonly baseUrl: string;
  readonly request: ImagesRequest;
  /** The number of pictures, and how many are fetched concurrently. */
  readonly count: number;
  readonly atOnce: number;
}

interface ImagesAnswer {
  readonly data: readonly { readonly b64_json: string }[];
}

/** An existing file is replaced. */
async function fetchPicture({ baseUrl, request }: Fetching, file: string): Promise<void> {
  const response = await fetch(`${baseUrl}/images/generations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  const { data } = (await response.json()) as ImagesAnswer;
  const [picture] = data;
  if (picture === undefined) throw new Error('The server answered no picture.');
  await writeFile(file, Buffer.from(picture.b64_json, 'base64'));
}

/** A file that is there is replaced. */
async function fetchVideo({ baseUrl, request }: Fetching, file: string): Promise<void> {
  const body = JSON.stringify(request);
  const headers = { 'content-type': 'application/json' };
  const submitted = await fetch(`${baseUrl}/videos`, { method: 'POST', headers, body });
  const { id } = (await submitted.json()) as { readonly id: string };
  const job = (await (await fetch(`${baseUrl}/videos/${id}`)).json()) as { readonly status: string };
  const content = await fetch(`${baseUrl}/videos/${id}/content`);
  if (job.status !== 'completed' || content.body === null) throw new Error('The server made no video.');
  await pipeline(content.body, createWriteStream(file));
}

/** Returns the time until the last file was written. */
async function fetchAll(
  fetching: Fetching,
  fetchOne: (fetching: Fetching, file: string) => Promise<void>,
): Promise<{ readonly elapsedMicros: number }> {
  const { count, atOnce } = fetching;
  const beganAtMicros = machineMicros();
  let begun = 0;
  const fetchSome = async (lane: number): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await fetchOne(fetching, join(folder, `${lane}.output`));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, lane) => fetchSome(lane)));
  return { elapsedMicros: machineMicros() - beganAtMicros };
}

const commands = {
  fetchPictures: (fetching: Fetching) => fetchAll(fetching, fetchPicture),
  fetchVideos: (fetching: Fetching) => fetchAll(fetching, fetchVideo),

  usage: usageOfThisProcess,
};

export type BareFetchCommands = typeof commands;

answerCommands(commands);
