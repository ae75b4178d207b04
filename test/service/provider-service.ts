import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import sharp from 'sharp';
import { ROOT } from '../docs/pages.js';
import { CliService } from '../harness/cli-service.js';

/** A generation, as the command prints it. */
export interface Task {
  readonly status: string;
  readonly charged_credits: number;
  readonly files: readonly string[];
  readonly error?: { readonly code: string; readonly message: string };
}

type Environment = Readonly<Record<string, string>>;

export function providerFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `darkroom-${name}-`));
}

/** A started service with a provider, beside a folder for the files of the tests. */
export class ProviderService {
  constructor(
    readonly folder: string,
    readonly environment: Environment,
    readonly service: CliService,
  ) {}

  /** With an example's configuration and catalog, which may be changed; `providers` are the settings of its providers. */
  static async example(name: string, providers: Environment, changed = (catalog: string) => catalog) {
    const folder = providerFolder(name);
    const examples = join(ROOT, 'config/providers');
    const catalog = join(folder, 'catalog.yaml');
    writeFileSync(catalog, changed(readFileSync(join(examples, `${name}.catalog.yaml`), 'utf8')));
    const settings = Object.entries(providers).map(([setting, value]) => [`DARKROOM_PROVIDERS_${setting}`, value]);
    const environment = {
      DARKROOM_CONFIG: join(examples, `${name}.yaml`),
      DARKROOM_CATALOG: catalog,
      ...(Object.fromEntries(settings) as Environment),
    };
    return new ProviderService(folder, environment, await CliService.start(environment));
  }

  generate(prompt: string, model: string, ...args: readonly string[]): Promise<Task> {
    return this.service.json<Task>(['generate', prompt, '--model', model, ...args]);
  }

  bytesOf({ files: [file = ''] }: Pick<Task, 'files'>): Buffer {
    return readFileSync(resolve(this.service.folder, file));
  }

  /** The size and the format of each picture. */
  picturesOf({ files }: Task): Promise<readonly string[]> {
    return Promise.all(
      files.map(async (file) => {
        const { width, height, format } = await sharp(this.bytesOf({ files: [file] })).metadata();
        return `${width}x${height} ${format}`;
      }),
    );
  }

  /** The path of a file with these bytes. */
  fileOf(name: string, bytes: Uint8Array): string {
    const path = join(this.folder, name);
    writeFileSync(path, bytes);
    return path;
  }

  async stop(): Promise<void> {
    await this.service.stop();
    rmSync(this.folder, { recursive: true });
  }
}
