import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { parse, stringify } from 'yaml';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../core/json.js';
import type { LiveService } from '../service/live-service.js';

/** How a sample ended. */
export interface EndedSample {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SampleOptions {
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Given to the standard input. */
  readonly input?: string;
  /** Called with each line of the standard output, when it comes. */
  readonly onLine?: (line: string) => void;
}

/** Runs a sample to its end, whatever its exit code. */
export async function runSample(
  command: string,
  args: readonly string[],
  { folder, environment = {}, input = '', onLine = () => undefined }: SampleOptions,
): Promise<EndedSample> {
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...environment } });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  createInterface({ input: child.stdout }).on('line', onLine);
  // A program that ends early does not read its input.
  child.stdin.on('error', () => undefined).end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

/**
 * A catalog whose model `sandbox-image`, which the samples use, takes these values as the defaults of the parameters of
 * `sandbox-test`. So a sample meets a slow or failing generation as it stands on its page.
 */
export function behaving(defaults: Readonly<Record<string, string | number>>): (shipped: string) => string {
  return (shipped) => {
    const { models, ...file } = parse(shipped) as { readonly models: readonly JsonObject[] };
    const find = (key: string) => models.find(({ model_key }) => model_key === key) as JsonObject;
    const { properties: tested } = find('sandbox-test')['input_schema'] as { readonly properties: JsonObject };
    const picture = find('sandbox-image');
    const schema = picture['input_schema'] as JsonObject;
    const properties = { ...(schema['properties'] as JsonObject) };
    for (const [name, value] of Object.entries(defaults))
      properties[name] = { ...(tested[name] as JsonObject), default: value };
    const changed = {
      ...picture,
      input_schema: { ...schema, properties },
      provider_settings: { painter: 'test' },
    };
    return stringify(
      { ...file, models: models.map((model) => (model === picture ? changed : model)) },
      { lineWidth: 0 },
    );
  };
}

/** Lines of a stack trace in Node and in Python. */
const TRACE = /^\s+at |^Traceback|^\s+File "|^\s*\^+/m;
/** curl prints a line about the status beside the answer. */
const LINES = 2;

/** Expects that a sample failed, and printed a sentence and no stack trace. */
export function expectSentence({ code, stdout, stderr }: EndedSample, sentence: RegExp): void {
  const said = `${stdout}${stderr}`.trim();
  expect(said).to.match(sentence);
  expect(said).to.not.match(TRACE);
  expect(said.split('\n'), said).to.have.length.at.most(LINES);
  expect(code).to.be.greaterThan(0);
}

/** Returns when the key's App has a running generation. */
export async function untilRunning(service: LiveService, secret: string): Promise<void> {
  const client = service.client(secret);
  while (((await client.request('GET', '/generations?status=running')).data['generations'] as []).length === 0)
    await sleep(100);
}

/** Stops the service in order and starts it again, as soon as the key's App has a running generation. */
export async function restartWhileRunning(service: LiveService, secret: string): Promise<void> {
  await untilRunning(service, secret);
  await service.server.end('SIGTERM');
  await service.server.start();
}
