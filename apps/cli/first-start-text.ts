import { type Demo, FIRST_PROMPT } from '../service/first-start.js';
import { quoted, shellWord } from '../shell-word.js';
import { isInContainer, readingCommand } from './called-as.js';
import type { KeptKey } from './client/connection.js';
import { facts } from './terminal.js';

/** The place of a secret of the first start: the screen, a file, or nowhere. */
export interface FirstSecret {
  readonly shown?: string;
  readonly file?: string;
}

interface FirstStart {
  /** The command by which the program was called. */
  readonly command: string;
  /** The sentence printed on every start. */
  readonly serving: string;
  readonly url: string;
  readonly demo: Demo;
  readonly key: FirstSecret;
  /** Undefined where people cannot sign in. */
  readonly link: FirstSecret | undefined;
  /** Undefined when the profile could not be written. */
  readonly kept: KeptKey | undefined;
  /** The profile in which the key is stored. */
  readonly profile: string;
}

/** The text of the first start on an empty database: who may call now, and how to make a first picture. */
export function firstStartText({ command, serving, url, demo, key, link, kept, profile }: FirstStart): string {
  return [
    serving,
    '',
    'Nothing is stored yet, so a demo account with 10,000 credits has been created:',
    '',
    facts({
      'account': demo.accountId,
      'app': demo.appId,
      'API key': keyText(command, demo.appId, key),
      'sign in': link && linkText(`${command} people reset ${demo.signIn?.personId}`, link),
    }),
    ...keptText(command, url, kept, profile),
    '',
    ...tryText(command, url, demo.modelKey, key, kept),
  ].join('\n');
}

/** Makes another key in place of one that nobody has any more. `config` is the file that `serve` was given. */
export function keysCreateCommand(command: string, appId: string, config?: string): string {
  return `${command} keys create ${appId} --name "another key"${config === undefined ? '' : ` --config ${quoted(config)}`}`;
}

function keyText(command: string, appId: string, { shown, file }: FirstSecret): string {
  if (shown !== undefined) return `${shown}   (shown this once)`;
  return file === undefined
    ? `not shown, because this is not a terminal; ${keysCreateCommand(command, appId)} makes another`
    : `in ${file}, which only you can read and which is deleted after the key's first use`;
}

function linkText(reset: string, { shown, file }: FirstSecret): string {
  const another = `works once, for half an hour; ${reset} makes another`;
  if (shown !== undefined) return `${shown}   (${another})`;
  return file === undefined
    ? `no link is shown, because this is not a terminal; ${reset} makes another`
    : `by the link in ${file}, which only you can read (${another})`;
}

function keptText(command: string, url: string, kept: KeptKey | undefined, profile: string): string[] {
  if (kept === undefined) return [];
  return [
    '',
    `The key is stored in ${profile}, which only you can read, for ${command}.`,
    ...(kept.replaced
      ? [
          `The key stored for this address before is replaced: it belonged to another data folder, and is no longer stored for ${command}.`,
        ]
      : []),
    ...(kept.isDefault
      ? []
      : [`The command line still uses another server; name this one with --url ${url}, or log in to it.`]),
  ];
}

function tryText(
  command: string,
  url: string,
  modelKey: string | undefined,
  key: FirstSecret,
  kept: KeptKey | undefined,
): string[] {
  if (modelKey === undefined)
    return [
      `No model of the catalog makes a picture from a prompt alone; ${url}/api/v1/developer/models lists what there is.`,
    ];
  // The file is gone after the first use, so a shell variable holds the key for the commands after it.
  const secret = key.shown ?? (key.file === undefined ? undefined : '$key');
  const read = key.file === undefined ? [] : [`key=$(${readingCommand(command, key.file)})`];
  // A container has no folder of the user's to save into.
  const first = isInContainer(command) ? undefined : firstCommand(command, url, modelKey, secret, kept);
  const save = first === undefined ? [] : ['', `or, to have it saved: ${first}`];
  return secret === undefined
    ? save
    : ['A first picture, from another terminal:', '', ...read, firstRequest(url, modelKey, secret), ...save];
}

/** A command that can be copied as it is, whatever the profile stores and whichever server is the default. */
function firstCommand(
  command: string,
  url: string,
  modelKey: string,
  secret: string | undefined,
  kept: KeptKey | undefined,
): string | undefined {
  if (kept === undefined && secret === undefined) return undefined;
  const variable = kept === undefined ? `DARKROOM_API_KEY="${secret}" ` : '';
  const server = kept?.isDefault ? '' : ` --url ${shellWord(url)}`;
  return `${variable}${command} generate "${FIRST_PROMPT}" --model ${modelKey} --out first-picture${server}`;
}

/**
 * The idempotency key is another one a second later, so that the command makes another picture when it is given again.
 */
function firstRequest(url: string, modelKey: string, secret: string): string {
  const body = JSON.stringify({ model_key: modelKey, operation: 'image_generation', prompt: FIRST_PROMPT });
  return [
    `curl -sS --fail-with-body ${url}/api/v1/developer/generations \\`,
    `  -H "Authorization: Bearer ${secret}" -H "Idempotency-Key: first-picture-$(date +%s)" \\`,
    `  -H 'Content-Type: application/json' -H 'Prefer: wait=60' -d '${body}'`,
  ].join('\n');
}
