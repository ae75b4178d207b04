import { rmSync } from 'node:fs';
import { completed } from '../../../adapters/catalog-file/model-defaults.js';
import { LocatedYaml } from '../../../adapters/catalog-file/located-yaml.js';
import { creditsText } from '../../../core/credits/account.js';
import { type JsonObject, memberOf } from '../../../core/json.js';
import { variableOf } from '../../config/keys.js';
import { printable } from '../../logging/logged-fields.js';
import { FIRST_PROMPT } from '../../service/first-start.js';
import { type ChangedFile, changeFiles, readText } from '../changed-files.js';
import { exampleFileOptions } from '../client/generation-input.js';
import { Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { print, say, show } from '../terminal.js';
import { withEntry, yamlLines } from '../yaml-edits.js';
import { type CatalogText, checkNext, confirm, keyOf, modelsIn, readCatalog } from './catalog-text.js';
import { type Installation, nameOfFile, prepareInstallation } from './installation.js';
import { type ModelRef, needsKey } from './model-ref.js';
import { propose, type ProposalOptions, type ProposedEntry } from './propose.js';

export interface AddNeeds {
  readonly ref: ModelRef;
  readonly options: ProposalOptions;
  readonly schema?: string | undefined;
  /** The model's key, in place of the proposed one. */
  readonly key?: string | undefined;
  readonly provider?: string | undefined;
  /** The configuration file of the command line. */
  readonly config?: string | undefined;
  readonly yes: boolean;
  readonly json: boolean;
}

/**
 * Proposes an entry for a model, shows it, and adds it to the catalog once it is agreed to. Throws one sentence, and then
 * no file has changed.
 */
export async function addModel(io: CliIo, needs: AddNeeds): Promise<void> {
  const { ref, options, schema, json } = needs;
  const installation = await prepareInstallation(io, { file: needs.config, ref, provider: needs.provider });
  const { config, instance } = installation;
  const catalog = readCatalog(config, io);
  const today = new Date().toISOString().slice(0, 10);
  const proposed = await propose(io, { ref, options, config, instance, schema, today });
  const entry = withKey(proposed.entry, needs, catalog);
  const lines = linesOf(entry, proposed);
  const after = withModel(catalog, entry, lines, proposed);
  const copied = copiedFile(proposed, io);
  const files = changedFiles(installation, { ...catalog, before: catalog.text, after }, copied);
  whileWritten(copied, () => checkNext(catalog, after, [...modelsIn(catalog.text), entry], config));
  const names = files.map(({ name }) => name);
  const text = proposalText(lines, proposed, priceSentence(entry, needs));
  if (!json) print(io, text);
  else if (!needs.yes) say(io, text);
  await confirm(io, `Write it to ${names.join(' and ')}?`, needs.yes);
  // The catalog last: stopped in between, the same command can be given again.
  changeFiles(files.toReversed());
  const key = keyOf(entry);
  const [next, notes] = [nextCommands(io, key, entry), notesOf(installation, { ref, entry }, io)];
  const { guesses, dropped } = proposed;
  const others = names.slice(1);
  show(
    io,
    {
      json: { model_key: key, provider: instance, files: names, entry, guesses, dropped, notes, next },
      text: [
        `${key} is in ${catalog.name}${others.length === 0 ? '' : `; also written: ${others.join(', ')}`}.`,
        ...notes,
        '',
        'Next, the last one in another terminal:',
        ...next.map((command) => `  ${command}`),
      ].join('\n'),
    },
    { json },
  );
}

/** The entry with the key that was given or proposed. Throws one sentence where the catalog has it already. */
function withKey(entry: JsonObject, { key }: AddNeeds, { name, text }: CatalogText): JsonObject {
  const wanted = key ?? keyOf(entry);
  const taken = modelsIn(text).map(keyOf);
  if (!taken.includes(wanted)) return { ...entry, model_key: wanted };
  let count = 2;
  while (taken.includes(`${wanted}-${count}`)) count += 1;
  throw new Failure(
    `${name} has a model ${wanted} already: give this one another key, such as --key ${wanted}-${count}, or remove the other with darkroom models remove ${wanted}.`,
  );
}

/** The entry as YAML, with the hints about its price below the price. */
function linesOf(entry: JsonObject, { hints }: ProposedEntry): readonly string[] {
  return Object.entries(entry).flatMap(([name, value]) => {
    const hasHints = name === 'price' && hints.length > 0;
    const lines = yamlLines({ [name]: value }, !hasHints);
    return hasHints ? [...lines, ...hints.map((hint) => `  # ${printable(hint)}`)] : lines;
  });
}

function withModel(
  { text: before = '' }: CatalogText,
  value: JsonObject,
  lines: readonly string[],
  { guesses }: ProposedEntry,
): string {
  const text = before.trim() === '' ? 'version: 1\nmodels:\n' : before;
  const yaml = new LocatedYaml(text);
  const models = memberOf(yaml.value, 'models');
  // Nothing can be added to other files; the check reports their faults.
  if (yaml.faults.length > 0 || (models !== null && !Array.isArray(models))) return text;
  return withEntry(text, ['models'], {
    value,
    lines,
    comments: guesses.map((guess) => `Guessed: ${printable(guess)}`),
  });
}

function changedFiles(
  { configFile }: Installation,
  catalogFile: ChangedFile,
  copied: ChangedFile | undefined,
): readonly ChangedFile[] {
  return [
    catalogFile,
    ...(configFile.before === configFile.after ? [] : [configFile]),
    ...(copied === undefined ? [] : [copied]),
  ];
}

/** The copy of a file that the entry names; undefined where it is there already. Throws one sentence. */
function copiedFile({ file }: ProposedEntry, { folder }: CliIo): ChangedFile | undefined {
  if (file === undefined) return undefined;
  const { path, text: after } = file;
  const name = nameOfFile(path, folder);
  const before = readText(path, name);
  if (before === undefined) return { path, name, before, after };
  if (before === after) return undefined;
  throw usageFailure(`${name} is another file already; copy the workflow there under another name first.`);
}

/** The check of an entry reads the files that it names. */
function whileWritten(file: ChangedFile | undefined, check: () => void): void {
  if (file !== undefined) changeFiles([file]);
  try {
    check();
  } finally {
    if (file !== undefined) rmSync(file.path);
  }
}

/** The price of a unit for clients, and how it was computed. */
function priceSentence(entry: JsonObject, { ref, options }: AddNeeds): string {
  const { credits_per_unit: credits, unit } = completed(entry).price;
  const price = `Price: ${creditsText(credits)} per ${unit}`;
  if (options.price !== undefined) return `${price}, by --price.`;
  const cost = memberOf(entry['provider_settings'], 'unit_cost') as { amount: string; currency: string } | undefined;
  if (cost === undefined) return `${price}.`;
  return `${price}: ${cost.amount} ${cost.currency} at ${ref.kind} x ${creditsText(options.dollarCredits)} per dollar x ${options.markup}.`;
}

function proposalText(lines: readonly string[], { guesses, dropped }: ProposedEntry, price: string): string {
  const list = (title: string, items: readonly string[]) =>
    items.length === 0 ? [] : ['', title, ...items.map((item) => `  - ${printable(item)}`)];
  return [...lines, '', price, ...list('Guessed:', guesses), ...list('Not sent:', dropped), ''].join('\n');
}

function notesOf(
  installation: Installation,
  { ref, entry }: { readonly ref: ModelRef; readonly entry: JsonObject },
  { environment }: CliIo,
): readonly string[] {
  const { config, configFile, instance, isNewInstance, leavesShippedCatalog } = installation;
  const options = config.providers.get(instance)?.options ?? {};
  const hasKey = options['api_key'] !== undefined || options['api_key_file'] !== undefined;
  const variable = variableOf(`providers.${instance}.api_key`);
  const isKnown = configFile.before !== undefined;
  const mask = memberOf(entry['provider_settings'], 'mask');
  const notes: readonly (readonly [applies: boolean, sentence: string])[] = [
    [needsKey(ref) && !hasKey, `Set ${variable} to the key of ${ref.kind} before you start the service.`],
    [Boolean(environment[variable]), `The key is not written: the service needs ${variable} too.`],
    [isNewInstance && ref.vendor === undefined, `Check where its server is: ${configFile.name} has a default address.`],
    [memberOf(mask, 'required') === true, 'The reference picture needs transparent areas: they are made anew.'],
    [leavesShippedCatalog, 'This catalog takes the place of the one that comes with the program.'],
    [isKnown && isNewInstance, 'A running service knows the provider after a restart.'],
    [isKnown && !isNewInstance, 'A running service reads the catalog on SIGHUP, or after a restart.'],
  ];
  return notes.flatMap(([applies, sentence]) => (applies ? [sentence] : []));
}

function nextCommands({ command }: CliIo, key: string, entry: JsonObject): readonly string[] {
  const { modality, required_roles: roles, prompt, input_schema: schema } = completed(entry);
  const required = (schema['required'] ?? []) as readonly string[];
  const parameters = required.map((name) => ` --param ${name}=…`).join('');
  const text = prompt === 'none' ? '' : ` "${FIRST_PROMPT}"`;
  const out = modality === 'video' ? 'first-video.mp4' : 'first-picture';
  return [
    `${command} serve`,
    `${command} generate${text} --model ${key}${exampleFileOptions(roles)}${parameters} --out ${out}`,
  ];
}
