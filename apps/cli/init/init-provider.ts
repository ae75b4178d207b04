import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import { LocatedYaml } from '../../../adapters/catalog-file/located-yaml.js';
import { completed } from '../../../adapters/catalog-file/model-defaults.js';
import type { ProviderDriver } from '../../../adapters/driver.js';
import { assert } from '../../../core/assert.js';
import type { PromptRule } from '../../../core/catalog/model.js';
import { REFERENCE_ROLES, type ReferenceRole } from '../../../core/generation/generation.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { variableOf } from '../../config/keys.js';
import { CONFIG_FILE, loadConfig } from '../../config/load-config.js';
import { isLoopback } from '../../config/network-address.js';
import { accepts, requirementOf, valueOfText } from '../../config/option-schema.js';
import { printable } from '../../logging/logged-fields.js';
import { FIRST_PROMPT } from '../../service/first-start.js';
import { BUILT_IN_DRIVERS } from '../../wiring/built-in-drivers.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import { exampleFileOptions } from '../client/generation-input.js';
import { Failure, sentenceOf, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { type Questions, questionsTo } from '../questions.js';
import { say, show, table } from '../terminal.js';
import { withEntries, withLineAfter, withValue, yamlText } from '../yaml-edits.js';
import { trialJson, trialText, type TriedFile, tryProposal } from './try-proposal.js';

const FOLDER = fileURLToPath(new URL('../../../../config/providers', import.meta.url));
const CATALOG = '.catalog.yaml';
/** Options that say where a provider is. */
const ADDRESS_OPTIONS = ['base_url', 'servers'] as const;

export interface ExampleModel {
  readonly model_key: string;
  readonly description?: string;
  readonly modality: string;
  readonly prompt: PromptRule;
  readonly limits: { readonly max_reference_uploads: number };
  readonly required_roles: readonly ReferenceRole[];
  /** The name of an instance. */
  readonly provider: string;
  readonly provider_settings?: JsonObject;
}

export interface ExampleInstance {
  readonly name: string;
  readonly driver: ProviderDriver;
  /** The option that says where it is, of those that its kind has. */
  readonly addressOption: (typeof ADDRESS_OPTIONS)[number];
  /** Undefined for a service elsewhere, whose address is known and which asks for a key. */
  readonly address: string | undefined;
}

/** The example of one provider in config/providers, as it is written. */
export interface ProviderExample {
  readonly name: string;
  readonly config: string;
  readonly catalog: string;
  readonly instances: readonly ExampleInstance[];
  readonly models: readonly ExampleModel[];
}

/** Throws one sentence with the names that there are. */
function providerExample(name: string): ProviderExample {
  const names = exampleNames();
  if (!names.includes(name)) {
    throw usageFailure(`There is no example of a provider ${printable(name)}; there are ${names.join(', ')}.`);
  }
  const config = readFileSync(join(FOLDER, `${name}.yaml`), 'utf8');
  const catalog = readFileSync(join(FOLDER, `${name}${CATALOG}`), 'utf8');
  const { providers } = valueOf(config) as { providers: Record<string, JsonObject> };
  const instances = Object.entries(providers).map(([instance, section]) =>
    instanceOfProviderExample(instance, section),
  );
  return { name, config, catalog, instances, models: modelsOf(catalog) };
}

/** The models of a catalog that can be used, with their defaults. */
export function modelsOf(catalog: string): readonly ExampleModel[] {
  const { models } = valueOf(catalog) as { models: JsonObject[] };
  return models.map((model) => completed(model) as unknown as ExampleModel);
}

/** The files beside the examples that the settings of a model name, by their paths. */
function filesOfModel({ provider_settings: settings }: ExampleModel): ReadonlyMap<string, string> {
  const paths = textsIn(settings ?? {}).filter((text) => {
    const path = join(FOLDER, text);
    return path.startsWith(FOLDER) && text.includes('/') && existsSync(path) && statSync(path).isFile();
  });
  return new Map(paths.map((path) => [path, readFileSync(join(FOLDER, path), 'utf8')]));
}

function exampleNames(): readonly string[] {
  if (!existsSync(FOLDER)) throw new Failure('This installation has no examples of providers.');
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(CATALOG))
    .map((file) => basename(file, CATALOG))
    .toSorted();
}

function instanceOfProviderExample(name: string, section: JsonObject): ExampleInstance {
  const driver = BUILT_IN_DRIVERS.find(
    (known): known is ProviderDriver => known.kind === 'provider' && known.name === section['kind'],
  );
  assert(driver !== undefined, 'an example has a built-in kind');
  const options = driver.options['properties'] as JsonObject;
  const addressOption = ADDRESS_OPTIONS.find((option) => options[option] !== undefined);
  assert(addressOption !== undefined, 'an example is of a kind with an address');
  const address = section[addressOption];
  return { name, driver, addressOption, address: address === undefined ? undefined : textsIn(address).join(',') };
}

function valueOf(text: string): Json {
  return new LocatedYaml(text).value;
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap((item) => textsIn(item)) : [];
}

/** Flags that replace answers to questions. */
export interface InitFlags {
  readonly model?: readonly string[];
  readonly import?: string;
  readonly try?: boolean;
  readonly baseUrl?: string;
  readonly apiKeyFile?: string;
}

/** A file of the user for which the catalog is proposed. */
export interface Imported {
  /** Relative to the folder of the catalog. */
  readonly path: string;
  readonly text: string;
  /** Whether it is elsewhere, and has to be copied to `path`. */
  readonly isElsewhere: boolean;
}

export interface Choice {
  readonly instance: ExampleInstance;
  readonly models: { readonly keys: readonly string[] } | { readonly imported: Imported };
  /** One address, or several separated by commas; the example's address if undefined. */
  readonly address: string | undefined;
  readonly keyFile: string | undefined;
}

interface Asking {
  readonly flags: InitFlags;
  /** Undefined if nobody can answer; then all flags are required. */
  readonly questions: Questions | undefined;
  readonly folder: string;
}

/** Determines what to write from the flags and the answers. Throws one sentence for a missing or invalid value. */
export async function choose(example: ProviderExample, asking: Asking): Promise<Choice> {
  const models = await chooseModels(example, asking);
  const name = 'keys' in models ? instanceOfChoose(example, models.keys) : example.instances[0]?.name;
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
    const imported = await questions.askUntil(`File with ${imports.what} (Enter for models of the example)`, (path) =>
      path === '' ? undefined : readProposable(path, imports, asking),
    );
    if (imported !== undefined) return { imported };
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
  const readKeys = (answer: string): Choice['models'] => {
    const chosen = answer.split(/[\s,]+/).filter((key) => key !== '');
    instanceOfChoose(example, chosen);
    return { keys: chosen };
  };
  return questions.askUntil('Models', readKeys, ofFirst.map(({ model_key: key }) => key).join(', '));
}

/** The name of the one instance that makes them. */
function instanceOfChoose({ models }: ProviderExample, keys: readonly string[]): string {
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
  const schema = (driver.options['properties'] as Record<string, JsonObject>)[addressOption] ?? {};
  // The value is not repeated: it may have a password in it.
  const checked = (name: string) => (given: string) => {
    if (!accepts(schema, valueOfText(schema, given))) throw usageFailure(`${name} ${requirementOf(schema)}.`);
    return given;
  };
  if (flags.baseUrl !== undefined) return checked('--base-url')(flags.baseUrl);
  if (shown === undefined) return undefined;
  if (questions === undefined)
    throw usageFailure(`--base-url is missing: the address of the server, such as ${shown}.`);
  const read = checked('The address of the server');
  return isLoopback(new URL(shown).hostname)
    ? questions.askUntil('Address of the server', read, shown)
    : questions.askUntil(`Address of the server, such as ${shown}`, read);
}

/** A file named by a flag may be elsewhere or not exist yet. An answer that is not a file may be the key itself. */
async function chooseKeyFile(
  instance: ExampleInstance,
  { flags, questions, folder }: Asking,
): Promise<string | undefined> {
  if (flags.apiKeyFile !== undefined || questions === undefined || instance.address !== undefined)
    return flags.apiKeyFile;
  return questions.askUntil(`File with the key of ${instance.name} (Enter to set it by a variable)`, (answer) => {
    if (answer === '') return undefined;
    if (!existsSync(resolve(folder, answer)))
      throw usageFailure(
        `The answer is not the name of a file, and is not kept; a key itself is set by ${variableOf(`providers.${instance.name}.api_key`)}.`,
      );
    return answer;
  });
}

/** Throws one sentence for a file that no catalog can be proposed for. */
async function readProposable(
  path: string,
  imports: NonNullable<ProviderDriver['imports']>,
  asking: Asking,
): Promise<Imported> {
  const imported = await readImported(path, asking);
  try {
    await imports.propose(imported.text, imported.path);
  } catch (error) {
    throw usageFailure(sentenceOf(error));
  }
  return imported;
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

const CATALOG_FILE = 'catalog.yaml';

export interface ChosenFiles {
  /** Texts by their paths, relative to the folder. */
  readonly files: ReadonlyMap<string, string>;
  /** The models of the catalog. */
  readonly models: readonly ExampleModel[];
}

/**
 * The files written for a choice: the example without the parts that were not chosen. Throws one sentence for an
 * unusable file.
 */
async function chosenFiles(example: ProviderExample, choice: Choice): Promise<ChosenFiles> {
  const config = configText(example, choice);
  if ('imported' in choice.models) {
    const { path, text, isElsewhere } = choice.models.imported;
    const { imports } = choice.instance.driver;
    assert(imports !== undefined, 'a file was chosen of a kind that imports some');
    const catalog = await imports.propose(text, path);
    const files = new Map([
      [CONFIG_FILE, config],
      [CATALOG_FILE, catalog],
      ...(isElsewhere ? [[path, text] as const] : []),
    ]);
    return { files, models: modelsOf(catalog) };
  }
  const { keys } = choice.models;
  const isChosen = ({ model_key: key }: ExampleModel) => keys.includes(key);
  const catalog = withEntries(example.catalog, ['models'], (index) =>
    example.models.some((model, at) => at === index && isChosen(model)),
  );
  const models = example.models.filter(isChosen);
  const beside = models.flatMap((model) => [...filesOfModel(model)]);
  return { files: new Map([[CONFIG_FILE, config], [CATALOG_FILE, catalog], ...beside]), models };
}

function configText({ config }: ProviderExample, { instance, address, keyFile }: Choice): string {
  const { name, addressOption, address: shown } = instance;
  const section = ['providers', name];
  let text = withEntries(config, ['providers'], (entry) => entry === name);
  text = withValue(text, ['catalog'], CATALOG_FILE);
  if (keyFile !== undefined) text = withLineAfter(text, [...section, 'kind'], `api_key_file: ${yamlText(keyFile)}`);
  if (address === undefined) return text;
  const value = addressOption === 'servers' ? `[${address.split(',').map(trimmed).join(', ')}]` : yamlText(address);
  return shown === undefined
    ? withLineAfter(text, [...section, 'kind'], `${addressOption}: ${value}`)
    : withValue(text, [...section, addressOption], value);
}

function trimmed(text: string): string {
  return yamlText(text.trim());
}

/** Throws one sentence where a file of these names is in the folder already. */
export function refuseTaken(folder: string, paths: Iterable<string>): void {
  const taken = [...paths].filter((path) => existsSync(resolve(folder, path)));
  if (taken.length === 0) return;
  const are = taken.length === 1 ? 'is' : 'are';
  throw usageFailure(`${taken.join(' and ')} ${are} in this folder already, and nothing is overwritten.`);
}

/**
 * Writes all of them, by their paths from the folder, and keeps them if `check` does not throw; else none is left. Never
 * replaces a file. Throws one sentence.
 */
async function writeNewFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
  check: () => Promise<void>,
): Promise<void> {
  refuseTaken(folder, files.keys());
  const written: string[] = [];
  try {
    for (const [path, text] of files) {
      write(resolve(folder, path), path, text);
      written.push(path);
    }
    await check();
  } catch (error) {
    for (const path of written) rmSync(resolve(folder, path), { force: true });
    throw error;
  }
}

function write(file: string, name: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw new Failure(`${name} cannot be written (${(error as NodeJS.ErrnoException).code}).`);
  }
}

/**
 * Writes the configuration and the catalog of one provider into the folder, based on its example, and shows how to
 * continue. Values without a flag are asked for at a terminal. Throws one sentence, and then leaves no file.
 */
export async function initProvider(
  io: CliIo,
  name: string,
  options: InitFlags & { readonly json?: boolean },
): Promise<void> {
  const example = providerExample(name);
  refuseTaken(io.folder, [CONFIG_FILE, CATALOG_FILE]);
  const questions = questionsTo(io);
  const choice = await choose(example, { flags: options, questions, folder: io.folder }).finally(() =>
    questions?.close(),
  );
  const { files, models } = await chosenFiles(example, choice);
  await writeNewFiles(io.folder, files, () => checkWritten(io.folder));
  const tried = options.try === true ? await tryWritten(io, choice, files.get(CATALOG_FILE) ?? '') : undefined;
  const next = nextCommands(io, models);
  const variable = variableOf(`providers.${choice.instance.name}.api_key`);
  show(
    io,
    {
      json: {
        provider: choice.instance.name,
        kind: choice.instance.driver.name,
        files: [...files.keys()],
        models: models.map(({ model_key: key }) => key),
        ...(choice.keyFile === undefined ? { key_variable: variable } : { key_file: choice.keyFile }),
        ...(tried === undefined ? {} : { tried: trialJson(tried) }),
        next,
      },
      text: [
        `Written: ${[...files.keys()].join(', ')}.`,
        keySentence(choice, variable),
        ...('imported' in choice.models ? [`Read ${CATALOG_FILE} first: it says what you should check.`] : []),
        ...(tried === undefined ? [] : [trialText(tried)]),
        '',
        'Next, the last one in another terminal:',
        ...next.map((command) => `  ${command}`),
      ].join('\n'),
    },
    options,
  );
}

/** Runs the proposal once. The files are kept whatever comes of it: they may only need a correction. */
async function tryWritten(io: CliIo, { instance }: Choice, catalog: string): Promise<readonly TriedFile[]> {
  const { providers } = await loadConfig({ file: CONFIG_FILE, folder: io.folder, environment: io.environment });
  const configured = providers.get(instance.name);
  if (configured === undefined) throw new Failure(`There is no provider ${instance.name} in ${CONFIG_FILE}.`);
  try {
    return await tryProposal(io, { catalog, folder: io.folder, ...configured });
  } catch (error) {
    say(io, `${CONFIG_FILE} and ${CATALOG_FILE} were written and are kept.`);
    throw error;
  }
}

/** Loads the files as the service would, without variables. Throws as it does. */
async function checkWritten(folder: string): Promise<void> {
  const config = await loadConfig({ file: CONFIG_FILE, folder, environment: {} });
  await loadCatalog(config.catalog, catalogTools(config), CATALOG_FILE);
}

function keySentence({ instance, keyFile }: Choice, variable: string): string {
  if (keyFile !== undefined) return `The key is read from ${keyFile} and written nowhere else.`;
  return instance.address === undefined
    ? `The key is not written: set ${variable} to it, or name a file that has it in api_key_file of ${CONFIG_FILE}.`
    : `If the server asks for a key, set ${variable} to it, or name a file that has it in api_key_file of ${CONFIG_FILE}.`;
}

/** The files that each task needs: of a workflow, one for each place in `inputs` of its settings. */
function neededFiles(model: ExampleModel | undefined): string {
  const inputs = (model?.provider_settings?.['inputs'] ?? {}) as JsonObject;
  const roles = REFERENCE_ROLES.flatMap((role) => {
    const places = inputs[role];
    const needed = model?.required_roles.filter((one) => one === role) ?? [];
    return Array.isArray(places) ? places.map(() => role) : needed;
  });
  return exampleFileOptions(roles);
}

function nextCommands({ command }: CliIo, models: readonly ExampleModel[]): readonly string[] {
  const model = models.find(({ limits }) => limits.max_reference_uploads === 0) ?? models[0];
  const out = model?.modality === 'video' ? 'first-video.mp4' : 'first-picture.png';
  const prompt = model?.prompt === 'none' ? '' : ` "${FIRST_PROMPT}"`;
  return [
    `${command} providers check`,
    `${command} serve`,
    `${command} generate${prompt} --model ${model?.model_key}${neededFiles(model)} --out ${out}`,
  ];
}
