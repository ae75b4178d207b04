import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answerCommands } from '../child.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';
import type { ImagesRequest } from './image-upstream.js';

/**
 * The control of pictures, in a process of its own: it asks a server with the Images API, parses the answer, decodes the
 * picture's base64 and writes it into a file of the folder named on the command line. No checks, no record, no sync.
 */
const [folder = ''] = process.argv.slice(2);

export interface Fetching {
  /** Of the server's API. */
  readonly baseUrl: string;
  readonly request: ImagesRequest;
  /** How many pictures, and how many of them at once. */
  readonly count: number;
  readonly atOnce: number;
}

interface ImagesAnswer {
  readonly data: readonly { readonly b64_json: string }[];
}

/** A file that is there is replaced. */
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

const commands = {
  /** Answers how long it took until the last file was written. */
  async fetchPictures(fetching: Fetching): Promise<{ readonly elapsedMicros: number }> {
    const { count, atOnce } = fetching;
    const beganAtMicros = machineMicros();
    let begun = 0;
    const fetchSome = async (lane: number): Promise<void> => {
      while (begun < count) {
        begun += 1;
        await fetchPicture(fetching, join(folder, `${lane}.png`));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, (_, lane) => fetchSome(lane)));
    return { elapsedMicros: machineMicros() - beganAtMicros };
  },

  usage: usageOfThisProcess,
};

export type BareFetchCommands = typeof commands;

answerCommands(commands);
