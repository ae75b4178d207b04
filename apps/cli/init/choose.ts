import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, isAbsolute, normalize, resolve } from 'node:path';
import type { JsonObject } from '../../../core/json.js';
import { keyOf, valueOfText } from '../../config/config-key.js';
import { variableOf } from '../../config/config-keys.js';
import { isLoopback } from '../../config/loopback.js';
import { printable } from '../../logging/printable.js';
import { usageFailure } from '../exit.js';
import { table } from '../terminal.js';
import type { ExampleInstance, ProviderExample } from './provider-example.js';
import type { Questions } from './questions.js';

/** What a command line says in place of answers. */
export interface InitFlags {
  readonly model?: readonly string[];
  readonly import?: string;
  readonly try?: boolean;
  readonly baseUrl?: string;
  readonly apiKeyFile?: string;
}

/** A file of the user's that the catalog is proposed for. */
export interface Imported {
  /** From the folder of the catalog. */
  readonly path: string;
  readonly text: string;
  /** Whether it is elsewhere, and has to be copied to `path`. */
  readonly isElsewhere: boolean;
}

export interface Choice {
  readonly instance: ExampleInstance;
  readonly models: { readonly keys: readonly string[] } | { readonly imported: Imported };
  /** One address, or several with commas; undefined for that of the example. */
  readonly address: string | undefined;
  readonly keyFile: string | undefined;
}

interface Asking {
  readonly flags: InitFlags;
  /** Undefined where nobody can answer: every flag must then be there. */
  readonly questions: Questions | undefined;
  readonly folder: string;
}

/** What is to be written, by the flags and the answers. Throws one sentence for what is missing or cannot be. */
export async function choose(example: ProviderExample, asking: Asking): Promise<Choice> {
  const models = await chooseModels(example, asking);
  const name = 'keys' in models ? instanceOf(example, models.keys) : example.instances[0]?.name;
  const instance = example.instances.find((known) => known.name === name);
  if (instance === undefined) throw usageFailure(`The example of ${example.name} has no provider ${name}.`);
  return {
    instance,
    models,
    address: await chooseAddress(instance, asking),
    keyFile: await chooseKeyFile(instance, asking),
  };
}

async function chooseModels(example: ProviderExample, asking: Asking): Promise<Choice['models']> {
  const { flags, questions } = asking;
  const imports = example.instances[0]?.driver.imports;
  if (flags.import !== undefined) {
    if (imports === undefined)
      throw usageFailure(`--import is not for ${example.name}: its models are written by hand.`);
    if (flags.model !== undefined) throw usageFailure('--import and --model may not both be given.');
    return { imported: await readImported(flags.import, asking) };
  }
  if (flags.try === true) throw usageFailure('--try needs --import, which names the file that is tried.');
  if (flags.model !== undefined) return { keys: flags.model };
  if (imports !== undefined && questions !== undefined) {
    const path = await questions.ask(`File with ${imports.what} (Enter for models of the example)`);
    if (path !== '') return { imported: await readImported(path, asking) };
  }
  const keys = example.models.map(({ model_key: key }) => key);
  if (keys.length === 1) return { keys };
  if (questions === undefined) {
    const others = imports === undefined ? '' : `; or --import names ${imports.what}`;
    throw usageFailure(`--model is missing: one or more of ${keys.join(', ')}${others}.`);
  }
  questions.tell(
    table(
      ['model', ''],
      example.models.map(({ model_key: key, description }) => [key, description]),
    ),
  );
  const [first] = example.models;
  const ofFirst = example.models.filter(({ provider }) => provider === first?.provider);
  const answer = await questions.ask('Models', ofFirst.map(({ model_key: key }) => key).join(', '));
  return { keys: answer.split(/[\s,]+/).filter((key) => key !== '') };
}

/** The name of the one instance that makes them. */
function instanceOf({ models }: ProviderExample, keys: readonly string[]): string {
  const chosen = keys.map((key) => {
    const model = models.find((known) => known.model_key === key);
    if (model !== undefined) return model;
    const known = models.map((one) => one.model_key).join(', ');
    throw usageFailure(`The example has no model ${printable(key)}; it has ${known}.`);
  });
  const instances = [...new Set(chosen.map(({ provider }) => provider))];
  const [instance] = instances;
  if (instance === undefined) throw usageFailure('At least one model must be named.');
  if (instances.length > 1) throw usageFailure(`${keys.join(', ')} are of different providers; name those of one.`);
  return instance;
}

async function chooseAddress(instance: ExampleInstance, { flags, questions }: Asking): Promise<string | undefined> {
  const { driver, addressOption, address: shown } = instance;
  const given = flags.baseUrl ?? (shown === undefined ? undefined : await askAddress(shown, questions));
  if (given === undefined) return undefined;
  const option = keyOf((driver.options['properties'] as Record<string, JsonObject>)[addressOption] ?? {});
  // The value is not repeated: it may have a password in it.
  if (!option.fits(valueOfText(option, given))) {
    throw usageFailure(`${flags.baseUrl === undefined ? 'The address of the server' : '--base-url'} ${option.wanted}.`);
  }
  return given;
}

function askAddress(shown: string, questions: Questions | undefined): Promise<string> {
  if (questions === undefined)
    throw usageFailure(`--base-url is missing: the address of the server, such as ${shown}.`);
  return isLoopback(new URL(shown).hostname)
    ? questions.ask('Address of the server', shown)
    : questions.ask(`Address of the server, such as ${shown}`);
}

/** A file named by a flag may be elsewhere, or not be there yet. An answer that is no file may be the key itself. */
async function chooseKeyFile(
  instance: ExampleInstance,
  { flags, questions, folder }: Asking,
): Promise<string | undefined> {
  if (flags.apiKeyFile !== undefined || questions === undefined || instance.address !== undefined)
    return flags.apiKeyFile;
  const answer = await questions.ask(`File with the key of ${instance.name} (Enter to set it by a variable)`);
  if (answer === '') return undefined;
  if (!existsSync(resolve(folder, answer)))
    throw usageFailure(
      `The answer is not the name of a file, and nothing was written; a key itself is set by ${variableOf(`providers.${instance.name}.api_key`)}.`,
    );
  return answer;
}

async function readImported(path: string, { folder }: Asking): Promise<Imported> {
  const isElsewhere = isAbsolute(path) || normalize(path).startsWith('..');
  try {
    const text = await readFile(resolve(folder, path), 'utf8');
    return { text, isElsewhere, path: isElsewhere ? basename(path) : path };
  } catch (error) {
    throw usageFailure(`${printable(path)} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
