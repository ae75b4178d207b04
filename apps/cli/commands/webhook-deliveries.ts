import { InvalidArgumentError, Option, type Command } from 'commander';
import type { WebhookDelivery } from '../../../clients/typescript/src/index.js';
import { DELIVERY_STATES, type DeliveryState } from '../../../core/webhooks/delivery.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { counted } from '../counted.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { show, table } from '../terminal.js';
import { clientCommand } from './client-command.js';
import { EXAMPLE_ID, examples } from './examples.js';

interface Options extends ConnectionOptions {
  readonly json?: boolean;
  readonly state?: DeliveryState;
  readonly since?: string;
  readonly until?: string;
}

interface ListOptions extends Options {
  readonly limit: number;
  readonly cursor?: string;
}

const MAX_LISTED = 100;

/** What webhooks were told, and sending it again. */
export function addDeliveries(webhooks: Command, io: CliIo): void {
  ranged(clientCommand(webhooks, 'deliveries <webhook_id>'))
    .description('list what a webhook was told in the last 30 days, newest first')
    .option('--limit <count>', `the most lines to show, 1 to ${MAX_LISTED}`, readLimit, MAX_LISTED)
    .option('--cursor <cursor>', 'continue where an earlier page ended')
    .addHelpText('after', examples([`darkroom webhooks deliveries ${EXAMPLE_ID} --state exhausted`]))
    .action((id: string, options: ListOptions) => list(io, id, options));
  ranged(clientCommand(webhooks, 'replay <webhook_id> [delivery_id]'))
    .description('send one delivery again, or all of a time that were not delivered')
    .addHelpText(
      'after',
      examples([
        `darkroom webhooks replay ${EXAMPLE_ID} ${EXAMPLE_ID}`,
        `darkroom webhooks replay ${EXAMPLE_ID} --since 2026-03-14T00:00:00Z`,
      ]),
    )
    .action((id: string, deliveryId: string | undefined, options: Options) => replay(io, id, deliveryId, options));
}

function ranged(command: Command): Command {
  return command
    .addOption(new Option('--state <state>', 'those in this state').choices(DELIVERY_STATES))
    .option('--since <time>', 'those made at this time or later, such as 2026-03-14T00:00:00Z', readMoment)
    .option('--until <time>', 'those made before this time', readMoment);
}

async function list(io: CliIo, id: string, { limit, cursor, ...options }: ListOptions): Promise<void> {
  const query = { limit, ...(cursor === undefined ? {} : { cursor }), ...rangeOf(options) };
  const page = await connect(io, options).webhooks.listDeliveries(id, query);
  const rows = page.deliveries.map((one) => [
    one.delivery_id,
    one.event,
    one.generation_id,
    one.state,
    one.attempts_made,
    lastAnswer(one),
    one.created_at,
  ]);
  const titles = ['delivery', 'event', 'generation', 'state', 'attempts', 'last answer', 'created'];
  const more = page.next_cursor === undefined ? '' : `\nThere is more: --cursor ${page.next_cursor}`;
  show(io, { json: page, text: table(titles, rows) + more }, options);
}

async function replay(io: CliIo, id: string, deliveryId: string | undefined, options: Options): Promise<void> {
  const { webhooks } = connect(io, options);
  if (deliveryId !== undefined) {
    if (Object.keys(rangeOf(options)).length > 0)
      throw usageFailure('A delivery_id excludes --state, --since and --until.');
    const delivery = await webhooks.replay(id, deliveryId);
    show(io, { json: delivery, text: `Delivery ${delivery.delivery_id} is sent again.` }, options);
    return;
  }
  const { created_after, ...range } = rangeOf(options);
  if (created_after === undefined) throw usageFailure('Name a delivery_id, or a time with --since.');
  const replayed = await webhooks.replayAll(id, { created_after, ...range });
  const text = `${counted(replayed, 'delivery is', 'deliveries are')} sent again.`;
  show(io, { json: { replayed }, text }, options);
}

function rangeOf({ state, since, until }: Options): {
  readonly state?: DeliveryState;
  readonly created_after?: string;
  readonly created_before?: string;
} {
  return {
    ...(state === undefined ? {} : { state }),
    ...(since === undefined ? {} : { created_after: since }),
    ...(until === undefined ? {} : { created_before: until }),
  };
}

function lastAnswer({ attempts }: WebhookDelivery): string {
  const last = attempts.at(-1);
  return last === undefined ? '' : String(last.status ?? last.fault ?? last.result);
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LISTED)
    throw new InvalidArgumentError(`It must be an integer from 1 to ${MAX_LISTED}.`);
  return limit;
}

function readMoment(text: string): string {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new InvalidArgumentError('It must be a time such as 2026-03-14T00:00:00Z.');
  return new Date(at).toISOString();
}
