import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { readPage } from '../../docs/pages.js';
import type { Tenant } from '../../service/live-service.js';
import { type EndedSample, runSample } from '../samples.js';
import type { ClientService } from './client-service.js';

const page = readPage('docs/openai.md');
/** The address of the service in the examples. */
const ORIGIN = 'http://127.0.0.1:8080';

/** A code block of docs/openai.md, run as it is shown, but at the address of a service. */
export class DocumentedExample {
  /** Where it runs; removed with the folder of the service. */
  readonly folder: string;
  readonly text: string;

  /** The first blocks under this heading with this language, as one. Throws where there are not so many. */
  constructor(
    service: ClientService,
    heading: string,
    language: string,
    { count = 1, origin = service.live.url }: { readonly count?: number; readonly origin?: string } = {},
  ) {
    this.folder = mkdtempSync(join(service.live.folder, 'example-'));
    const lines = page.prose.split('\n');
    const from = lines.indexOf(`### ${heading}`) + 1;
    const to = lines.findIndex((line, index) => index >= from && line.startsWith('##'));
    const blocks = page.blocks
      .filter(({ info, line }) => info === language && line > from && line <= to)
      .slice(0, count);
    if (from === 0 || blocks.length < count)
      throw new Error(`docs/openai.md has too little ${language} under ${heading}.`);
    this.text = blocks
      .map(({ text }) => text)
      .join('\n')
      .replaceAll(ORIGIN, origin);
  }

  /** Runs it with a program that reads it from its standard input, to its end. */
  ended(
    command: string,
    args: readonly string[],
    secret: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<EndedSample> {
    return runSample(command, args, {
      folder: this.folder,
      environment: { ...environment, DARKROOM_API_KEY: secret },
      input: this.text,
    });
  }

  /** The same. Throws with its error output where it fails. */
  async run(
    command: string,
    args: readonly string[],
    { secret }: Tenant,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const { code, stderr } = await this.ended(command, args, secret, environment);
    if (code !== 0) throw new Error(`The example ended with ${code}: ${stderr}`);
  }

  file(name: string): Buffer {
    return readFileSync(join(this.folder, name));
  }

  /** Format and size of a picture that it wrote. */
  async picture(name: string): Promise<string> {
    const { format, width, height } = await sharp(this.file(name)).metadata();
    return `${format} ${width}x${height}`;
  }
}
