import type { Command } from 'commander';
import { loadConfig } from '../../config/load-config.js';
import type { Served } from '../../serve.js';
import { operatorCommand, type OperatorOptions } from '../operator/operator-command.js';
import { profilePath, rememberKey } from '../client/profile.js';
import { facts, say, show } from '../terminal.js';
import { examples } from './examples.js';

const ABOUT = `The first start of an empty data folder makes an account to try things with and shows its key, once. The log goes to
stderr. Ctrl-C or SIGTERM stops it in order; a second time at once.`;

/** `darkroom serve`: the whole service in one process, until it is asked to stop. */
export function addServe(program: Command): void {
  operatorCommand(program, 'serve')
    .description('run the service: requests, and the generations they ask for')
    .addHelpText('after', examples([
      'darkroom serve',
      'DARKROOM_REST_PORT=9000 darkroom serve --config /etc/darkroom.yaml',
    ], ABOUT))
    .action(async (options: OperatorOptions) => {
      const config = loadConfig({ file: options.config });
      const { serve } = await import('../../serve.js');
      await serve(config, (served) => { showServed(served, options); });
    });
}

/** A start says where it serves; the first start of a folder also who may call, once, and how to see a first picture. */
function showServed({ url, demo }: Pick<Served, 'url' | 'demo'>, options: OperatorOptions): void {
  if (demo === null) {
    show({ json: { url }, text: `Serving on ${url} (its API is described at ${url}/docs). Ctrl-C stops.` }, options);
    return;
  }
  const profile = keepKey(url, demo.secret);
  const text = [
    `Serving on ${url} (its API is described at ${url}/docs). Ctrl-C stops.`,
    '',
    'This data folder is new, so there is an account to try things with now, with 10,000 credits:',
    '',
    facts([['account', demo.accountId], ['app', demo.appId], ['API key', `${demo.secret}   (shown this once)`]]),
    ...(profile === undefined ? [] : ['', `The key is kept in ${profile}, which only you can read, for npx darkroom.`]),
    '',
    'A first picture, from another terminal:',
    '',
    firstPicture(url, demo.secret),
    '',
    'or, to have it saved: npx darkroom generate "a lighthouse at dusk" --model sandbox-image --out lighthouse.png',
  ].join('\n');
  show({ json: { url, account_id: demo.accountId, app_id: demo.appId, secret: demo.secret }, text }, options);
}

/** The profile the key went to, or undefined when it could not be written: the key is on the screen all the same. */
function keepKey(url: string, secret: string): string | undefined {
  const path = profilePath();
  try {
    rememberKey(path, url, secret);
    return path;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function firstPicture(url: string, secret: string): string {
  const body = '{"model_key":"sandbox-image","operation":"image_generation","prompt":"a lighthouse at dusk"}';
  return [
    `curl -s ${url}/api/v1/developer/generations \\`,
    `  -H 'Authorization: Bearer ${secret}' -H 'Idempotency-Key: first-picture' \\`,
    `  -H 'Content-Type: application/json' -d '${body}'`,
  ].join('\n');
}
