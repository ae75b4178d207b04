import { Option, type Command } from 'commander';
import type { Role } from '../../config/config.js';
import { loadConfig } from '../../config/load-config.js';
import type { Served } from '../../serve.js';
import { storeCommand, type StoreOptions } from '../operator/store-command.js';
import { keepFirstKey, profilePath, type KeptKey } from '../client/profile.js';
import { sentenceOf } from '../exit.js';
import { facts, say, show } from '../terminal.js';
import { examples } from './examples.js';

const ABOUT = `The first start of an empty data folder makes an account to try things with and shows its key, once. The log goes to
stderr. Ctrl-C or SIGTERM stops it in order; a second time at once.`;

interface Options extends StoreOptions {
  readonly role?: Role;
  readonly migrate?: boolean;
}

/** `darkroom serve`: the whole service in one process, or one process's part of it, until it is asked to stop. */
export function addServe(program: Command): void {
  storeCommand(program, 'serve')
    .description('run the service: requests, and the generations they ask for')
    .addOption(new Option('--role <role>', 'what this process does of it (default: role of the configuration)').choices(['all', 'rest', 'worker']))
    .option('--migrate', 'first do what darkroom migrate does')
    .addHelpText('after', examples([
      'darkroom serve',
      'DARKROOM_REST_PORT=9000 darkroom serve --config /etc/darkroom.yaml',
      'darkroom serve --config distributed.yaml --role worker',
    ], ABOUT))
    .action(async (options: Options) => {
      const config = loadConfig({ file: options.config, role: options.role });
      if (options.migrate) {
        const { migrateStores } = await import('../../stores/migrate-stores.js');
        await migrateStores(config, { role: 'server', tell: say });
      }
      const { serve } = await import('../../serve.js');
      await serve(config, (served) => { showServed(served, options); });
    });
}

/** A start says where it serves; the first start of a folder also who may call, once, and how to see a first picture. */
function showServed({ url, listening, demo }: Omit<Served, 'stop'>, options: StoreOptions): void {
  if (url === null) {
    show({ json: { url }, text: 'Working on generations; a worker takes no requests. Ctrl-C stops.' }, options);
    return;
  }
  const serving = servingText(url, listening);
  if (demo === null) {
    show({ json: { url }, text: serving }, options);
    return;
  }
  const kept = keepKey(url, demo.secret);
  const text = [
    serving,
    '',
    'Nothing is stored yet, so there is an account to try things with now, with 10,000 credits:',
    '',
    facts([['account', demo.accountId], ['app', demo.appId], ['API key', `${demo.secret}   (shown this once)`]]),
    ...keptText(url, kept),
    '',
    'A first picture, from another terminal:',
    '',
    firstPicture(url, demo.secret),
    '',
    `or, to have it saved: ${firstCommand(url, demo.secret, kept)}`,
  ].join('\n');
  show({ json: { url, account_id: demo.accountId, app_id: demo.appId, secret: demo.secret }, text }, options);
}

function servingText(url: string, listening: string | null): string {
  const isOther = listening !== null && url !== `http://${listening}`;
  return `Serving on ${url} (its API is described at ${url}/docs)${isOther ? `, listening on ${listening}` : ''}. Ctrl-C stops.`;
}

/** What became of the key, or undefined when the profile could not be written: the key is on the screen all the same. */
function keepKey(url: string, secret: string): KeptKey | undefined {
  try {
    return keepFirstKey(profilePath(), url, secret);
  } catch (error) {
    say(`darkroom: ${sentenceOf(error)} The key is not kept.`);
    return undefined;
  }
}

function keptText(url: string, kept: KeptKey | undefined): string[] {
  if (kept === undefined) return [];
  return [
    '',
    `The key is kept in ${profilePath()}, which only you can read, for npx darkroom.`,
    ...(kept.replaced ? ['The key kept for this address before is replaced: it was of another data folder, and is kept nowhere now.'] : []),
    ...(kept.isDefault ? [] : [`The command line goes on to mean another server; name this one with --url ${url}, or log in to it.`]),
  ];
}

/** A command that works as it stands, whatever is kept and whichever server is the usual one. */
function firstCommand(url: string, secret: string, kept: KeptKey | undefined): string {
  const variable = kept === undefined ? `DARKROOM_API_KEY=${secret} ` : '';
  const server = kept?.isDefault ? '' : ` --url ${url}`;
  return `${variable}npx darkroom generate "a lighthouse at dusk" --model sandbox-image --out lighthouse.png${server}`;
}

function firstPicture(url: string, secret: string): string {
  const body = '{"model_key":"sandbox-image","operation":"image_generation","prompt":"a lighthouse at dusk"}';
  return [
    `curl -s ${url}/api/v1/developer/generations \\`,
    `  -H 'Authorization: Bearer ${secret}' -H 'Idempotency-Key: first-picture' \\`,
    `  -H 'Content-Type: application/json' -d '${body}'`,
  ].join('\n');
}
