import { randomUUID } from 'node:crypto';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { Options, ProviderDriver } from '../../../adapters/driver.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import type { Model } from '../../../core/catalog/model.js';
import { REFERENCE_ROLES } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { Log } from '../../../core/log.js';
import { MAX_HEADER_BYTES, readImageHeader } from '../../../core/media/image-header.js';
import { extensionOf } from '../../../core/media/media-types.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type {
  Provider,
  ProviderCall,
  ProviderOutput,
  ProviderReference,
  ProviderReport,
  Submission,
} from '../../../core/ports/provider.js';
import { loadConfig } from '../../config/load-config.js';
import { accepts, requirementOf, valueOfText } from '../../config/option-schema.js';
import { printable } from '../../logging/logged-fields.js';
import { FIRST_PROMPT } from '../../service/first-start.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import { Interrupted, Interruption } from '../client/follow-generation.js';
import { EXIT, Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { say } from '../terminal.js';

/** The most bytes of colour profile that a JPEG can have before its size. */
const MAX_PROFILE_BYTES = 17 * 1024 * 1024;

/** The model to try, which is the only one of a proposed catalog, at an instance of its driver. */
export interface Trial {
  readonly catalog: string;
  readonly driver: ProviderDriver;
  /** The options of the instance, including defaults. */
  readonly options: Options;
  /** An absolute path; paths in the catalog are relative to it. */
  readonly folder: string;
}

/** A file that the trial made. */
export interface TriedFile {
  readonly path: string;
  readonly kind: string;
  readonly mediaType: string;
  readonly byteSize: number;
  /** The size of a picture, as WIDTHxHEIGHT. */
  readonly size?: string;
}

const POLL_MS = 1_000;
const CALL_MS = 60_000;
/** Consecutive failed polls after which the trial ends. */
const MAX_FAILED_POLLS = 20;

/**
 * Runs a proposed model once, with the defaults of its parameters and plain pictures in place of reference files, and
 * stores the outputs in a temporary folder. Ctrl-C cancels the task. Throws one sentence.
 */
export async function tryProposal(io: CliIo, trial: Trial): Promise<readonly TriedFile[]> {
  const { driver, options, folder, catalog } = trial;
  const tools = catalogTools({
    providers: new Map([[driver.name, { driver, options }]]),
    catalog: join(folder, 'catalog.yaml'),
  });
  const [model] = parseCatalog(catalog, 'proposal', tools).models();
  if (model === undefined) throw new Failure('The proposal has no model.');
  const provider = await driver.open({
    options,
    instance: driver.name,
    catalogFolder: folder,
    dataFolder: folder,
    clock: new SystemClock({ keepsProcessAlive: false }),
    log: logTo(io),
    memory: new MemoryBudget(256 * 1024 * 1024),
  });
  const interruption = new Interruption(io.signals);
  try {
    await checkFirst(provider, model);
    say(io, `Trying ${model.modelKey} once: "${FIRST_PROMPT}". Ctrl-C cancels it.`);
    return await run(provider, model, interruption.signal);
  } finally {
    interruption.release();
    await provider.close?.();
  }
}

/** An instance of a driver that no configuration has yet. Throws one sentence for an address that cannot be one. */
export async function instanceAt(
  io: CliIo,
  driver: ProviderDriver,
  { baseUrl, apiKeyFile }: { readonly baseUrl: string; readonly apiKeyFile: string | undefined },
): Promise<Pick<Trial, 'driver' | 'options'>> {
  const properties = driver.options['properties'] as Record<string, JsonObject>;
  const name = properties['servers'] === undefined ? 'base_url' : 'servers';
  const schema = properties[name] ?? {};
  // The value is not repeated: it may have a password in it.
  if (!accepts(schema, valueOfText(schema, baseUrl))) throw usageFailure(`--base-url ${requirementOf(schema)}.`);
  const section = {
    kind: driver.name,
    [name]: name === 'servers' ? baseUrl.split(',').map((address) => address.trim()) : baseUrl,
    ...(apiKeyFile === undefined ? {} : { api_key_file: resolve(io.folder, apiKeyFile) }),
  };
  const folder = mkdtempSync(join(tmpdir(), 'darkroom-try-'));
  try {
    // JSON is YAML.
    writeFileSync(join(folder, 'darkroom.yaml'), JSON.stringify({ providers: { [driver.name]: section } }));
    const config = await loadConfig({ file: 'darkroom.yaml', folder, environment: io.environment });
    return config.providers.get(driver.name) ?? { driver, options: {} };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The lines that show what a trial has made. */
export function trialText(files: readonly TriedFile[]): string {
  const lines = files.map(
    ({ path, mediaType, byteSize, size }) =>
      `  ${path}  ${mediaType}, ${byteSize} bytes${size === undefined ? '' : `, ${size}`}`,
  );
  return [`Tried once: ${files.length === 1 ? 'one file' : `${files.length} files`} in all.`, ...lines].join('\n');
}

export function trialJson(files: readonly TriedFile[]) {
  return files.map(({ path, kind, mediaType, byteSize, size }) => ({
    path,
    kind,
    media_type: mediaType,
    byte_size: byteSize,
    size,
  }));
}

async function checkFirst(provider: Provider, { route }: Model): Promise<void> {
  const settings = route.map((entry) => entry.settings);
  const faults = (await provider.check?.(settings, call()))?.faults ?? [];
  if (faults.length > 0) throw new Failure(`The proposal cannot be tried: ${faults.map(printable).join(' ')}`);
}

async function run(provider: Provider, model: Model, interrupted: AbortSignal): Promise<readonly TriedFile[]> {
  const settings = model.route[0]?.settings ?? {};
  const submission = await submissionOf(model, settings);
  const submitted = await provider.submit(submission, call());
  if (!submitted.accepted) throw new Failure(`The provider refused the task: ${submitted.failure.message}`);
  if ('outputs' in submitted) throw new Failure('A provider that answers with outputs cannot be tried.');
  const { reference } = submitted;
  try {
    const outputs = await ended(() => provider.poll(reference, settings, call()), model.runTimeoutMs, interrupted);
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-try-'));
    const files: TriedFile[] = [];
    for (const [index, output] of outputs.entries()) {
      const bytes = await provider.output(reference, index, settings, { signal: new AbortController().signal });
      files.push(await keep(bytes, output, join(folder, `output-${index + 1}`)));
    }
    if (files.length === 0)
      throw new Failure('The task succeeded and saved nothing that can be delivered; check outputs.');
    return files;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    await provider.cancel(reference, settings, call());
    throw new Failure('Interrupted; the task was cancelled.', EXIT.cancelled);
  }
}

/** The outputs of a task that has succeeded. A failed poll is repeated, because the task may still be running. */
async function ended(
  poll: () => Promise<ProviderReport>,
  withinMs: number,
  interrupted: AbortSignal,
): Promise<readonly ProviderOutput[]> {
  let failed = 0;
  for (let waitedMs = 0; waitedMs < withinMs; waitedMs += POLL_MS) {
    if (interrupted.aborted) throw interrupted.reason;
    const report = await poll().catch((error: unknown) => {
      failed += 1;
      if (failed >= MAX_FAILED_POLLS) throw error;
      return { state: 'running' } as const;
    });
    if (report.state === 'succeeded') return report.outputs;
    if (report.state === 'failed') throw new Failure(`The task failed: ${report.failure.message}`);
    if (report.state === 'cancelled') throw new Failure('The task was cancelled at the provider.');
    if (report.state === 'unknown') throw new Failure('The provider does not know the task any more.');
    await sleep(POLL_MS, undefined, { signal: interrupted }).catch(() => undefined);
  }
  throw new Failure(`The task did not end within run_timeout_seconds, ${withinMs / 1_000}.`);
}

async function submissionOf(model: Model, settings: JsonObject): Promise<Submission> {
  const { withDefaults } = new AjvJsonSchemas().check(model.inputSchema, {});
  const parameters = withDefaults as JsonObject;
  const count = parameters[model.price.countParameter ?? ''];
  return {
    generationId: randomUUID(),
    attempt: 1,
    modelKey: model.modelKey,
    operation: model.operations[0] ?? 'image_generation',
    prompt: model.promptRule === 'none' ? '' : FIRST_PROMPT,
    parameters,
    inputSchema: model.inputSchema,
    references: await referencesFor(settings),
    settings,
    token: randomUUID(),
    outputCount: typeof count === 'number' ? count : 1,
    timeLeftMs: model.runTimeoutMs,
  };
}

const SIDE = 512;

/** A plain grey picture for each place that the settings have for a file. */
async function referencesFor(settings: JsonObject): Promise<readonly ProviderReference[]> {
  // It takes long to load, and only a trial needs it.
  const { sharp } = await import('../../../adapters/image-library.js');
  const inputs = (settings['inputs'] ?? {}) as JsonObject;
  const grey = { r: 128, g: 128, b: 128 };
  const bytes = await sharp({ create: { width: SIDE, height: SIDE, channels: 3, background: grey } })
    .png()
    .toBuffer();
  return REFERENCE_ROLES.flatMap((role) => {
    const places = inputs[role];
    return (Array.isArray(places) ? places : []).map((): ProviderReference => ({
      role,
      mediaType: 'image/png',
      byteSize: bytes.byteLength,
      open: async () => Readable.from([bytes]),
    }));
  });
}

async function keep(
  bytes: AsyncIterable<Uint8Array>,
  { kind, mediaType }: ProviderOutput,
  stem: string,
): Promise<TriedFile> {
  const path = `${stem}.${extensionOf(mediaType)}`;
  await pipeline(Readable.from(bytes), createWriteStream(path, { flags: 'wx' }));
  const { size: byteSize } = await stat(path);
  const size = kind === 'image' ? await sizeOf(path) : undefined;
  return { path, kind, mediaType, byteSize, ...(size === undefined ? {} : { size }) };
}

async function sizeOf(path: string): Promise<string | undefined> {
  const file = await open(path);
  try {
    const read = async (byteCount: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(byteCount), 0, byteCount, 0);
      return readImageHeader(buffer.subarray(0, bytesRead));
    };
    let header = await read(MAX_HEADER_BYTES);
    if (header === 'more') header = await read(MAX_PROFILE_BYTES);
    return typeof header === 'string' ? undefined : `${header.widthPx}x${header.heightPx}`;
  } finally {
    await file.close();
  }
}

function call(): ProviderCall {
  return { signal: AbortSignal.timeout(CALL_MS) };
}

/** A provider's log has details that a sentence for clients leaves out, such as the node that failed. */
function logTo(io: CliIo): Log {
  const line = (event: string, about: Readonly<Record<string, unknown>>) =>
    say(io, printable(`${event}: ${JSON.stringify(about)}`));
  return { info: () => undefined, warn: line };
}
