import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type CreateWebhookRequest,
  DEFAULT_WEBHOOK,
  type UpdateWebhookRequest,
  type Webhook,
  type WebhookDelivery,
} from '../../../clients/typescript/src/index.js';
import { DELIVERY_STATES, type DeliveryState } from '../../../core/webhooks/delivery.js';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks/endpoint.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { counted, facts, say, show, table } from '../terminal.js';
import { clientCommand, EXAMPLE_ID, examples } from './client-command.js';
import type { ListenOptions } from './listen.js';

interface DeliveryOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly state?: DeliveryState;
  readonly since?: string;
  readonly until?: string;
}

interface ListOptions extends DeliveryOptions {
  readonly limit: number;
  readonly cursor?: string;
}

const MAX_LISTED = 100;

/** Commands that list the messages sent to webhooks and send them again. */
function addDeliveries(webhooks: Command, io: CliIo): void {
  ranged(clientCommand(webhooks, 'deliveries <webhook_id>'))
    .description('list what a webhook was told in the last 30 days, newest first')
    .option('--limit <count>', `the most lines to show, 1 to ${MAX_LISTED}`, readLimit, MAX_LISTED)
    .option('--cursor <cursor>', 'continue where an earlier page ended')
    .addHelpText('after', examples([`darkroom webhooks deliveries ${EXAMPLE_ID} --state exhausted`]))
    .action((id: string, options: ListOptions) => listWebhookDeliveries(io, id, options));
  ranged(clientCommand(webhooks, 'replay <webhook_id> [delivery_id]'))
    .description('send one delivery again, or all of a time that were not delivered')
    .addHelpText(
      'after',
      examples([
        `darkroom webhooks replay ${EXAMPLE_ID} ${EXAMPLE_ID}`,
        `darkroom webhooks replay ${EXAMPLE_ID} --since 2026-03-14T00:00:00Z`,
      ]),
    )
    .action((id: string, deliveryId: string | undefined, options: DeliveryOptions) =>
      replay(io, id, deliveryId, options),
    );
}

function ranged(command: Command): Command {
  return command
    .addOption(new Option('--state <state>', 'those in this state').choices(DELIVERY_STATES))
    .option('--since <time>', 'those made at this time or later, such as 2026-03-14T00:00:00Z', readMoment)
    .option('--until <time>', 'those made before this time', readMoment);
}

async function listWebhookDeliveries(io: CliIo, id: string, { limit, cursor, ...options }: ListOptions): Promise<void> {
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

async function replay(io: CliIo, id: string, deliveryId: string | undefined, options: DeliveryOptions): Promise<void> {
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

function rangeOf({ state, since, until }: DeliveryOptions): {
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

interface WebhookOptions extends ConnectionOptions {
  readonly json?: boolean;
}

interface EndpointOptions extends WebhookOptions {
  readonly event?: readonly WebhookEvent[];
  readonly description?: string;
}

interface UpdateOptions extends EndpointOptions {
  readonly address?: string;
  readonly enable?: boolean;
  readonly disable?: boolean;
}

const EVENTS = `what it is told of (repeatable): ${WEBHOOK_EVENTS.join(', ')}`;

/** `darkroom webhooks`: the App's endpoints that are notified when generations end. */
export function addWebhooks(program: Command, io: CliIo): void {
  const webhooks = program.command('webhooks').description("addresses that are told when an App's generations end");
  clientCommand(webhooks, 'create <address>')
    .description('add a webhook and show its secret, once')
    .option('--event <event>', `${EVENTS}; the ends if omitted`, collectEvent)
    .option('--description <text>', 'what it is for')
    .addHelpText('after', examples(['darkroom webhooks create https://app.example/webhooks --description orders']))
    .action((url: string, { event: events, description, ...options }: EndpointOptions) =>
      create(io, { url, ...(events && { events: [...events] }), ...(description && { description }) }, options),
    );
  clientCommand(webhooks, 'list')
    .description('list the webhooks')
    .addHelpText('after', examples(['darkroom webhooks list']))
    .action((options: WebhookOptions) => listWebhooks(io, options));
  clientCommand(webhooks, 'update <webhook_id>')
    .description('change a webhook, or enable it again')
    .option('--address <address>', 'its new address')
    .option('--event <event>', EVENTS, collectEvent)
    .option('--description <text>', 'what it is for; an empty one removes it')
    .option('--enable', 'send to it again')
    .option('--disable', 'send nothing to it')
    .addHelpText('after', examples([`darkroom webhooks update ${EXAMPLE_ID} --enable`]))
    .action((id: string, options: UpdateOptions) => update(io, id, options));
  clientCommand(webhooks, 'delete <webhook_id>')
    .description('remove a webhook')
    .addHelpText('after', examples([`darkroom webhooks delete ${EXAMPLE_ID}`]))
    .action(async (id: string, options: WebhookOptions) => {
      await connect(io, options).webhooks.delete(id);
      show(io, { json: { webhook_id: id, deleted: true }, text: `Webhook ${id} is deleted.` }, options);
    });
  clientCommand(webhooks, 'rotate <webhook_id>')
    .description('give a webhook a new secret and show it, once; the one before it is valid for a day more')
    .addHelpText(
      'after',
      examples(
        [`darkroom webhooks rotate ${EXAMPLE_ID}`, `darkroom webhooks rotate ${DEFAULT_WEBHOOK}`],
        `${DEFAULT_WEBHOOK} is the secret for addresses of single generations.`,
      ),
    )
    .action((id: string, options: WebhookOptions) => rotate(io, id, options));
  addDeliveries(webhooks, io);
  addListen(webhooks, io);
}

async function create(io: CliIo, request: CreateWebhookRequest, options: WebhookOptions): Promise<void> {
  const created = await connect(io, options).webhooks.create(request);
  show(io, { json: created, text: `${webhookText(created)}\n${facts([['secret', created.secret]])}` }, options);
  if (!options.json) say(io, 'The secret cannot be shown again.');
}

async function listWebhooks(io: CliIo, options: WebhookOptions): Promise<void> {
  const webhooks = await connect(io, options).webhooks.list();
  const rows = webhooks.map((one) => [one.webhook_id, stateOf(one), one.url, one.description]);
  show(io, { json: { webhooks }, text: table(['webhook', 'state', 'address', 'description'], rows) }, options);
}

async function update(io: CliIo, id: string, options: UpdateOptions): Promise<void> {
  const { address, event, description, enable, disable } = options;
  if (enable && disable) throw usageFailure('--enable and --disable exclude each other.');
  const change: UpdateWebhookRequest = {
    ...(address === undefined ? {} : { url: address }),
    ...(event === undefined ? {} : { events: [...event] }),
    ...(description === undefined ? {} : { description }),
    ...(enable || disable ? { enabled: enable === true } : {}),
  };
  if (Object.keys(change).length === 0)
    throw usageFailure('Say what to change: --address, --event, --description, --enable or --disable.');
  const webhook = await connect(io, options).webhooks.update(id, change);
  show(io, { json: webhook, text: webhookText(webhook) }, options);
}

async function rotate(io: CliIo, id: string, options: WebhookOptions): Promise<void> {
  const rotated = await connect(io, options).webhooks.rotateSecret(id);
  const text = facts([
    ['secret', rotated.secret],
    ['the one before until', rotated.previous_secret_expires_at],
  ]);
  show(io, { json: rotated, text }, options);
  if (!options.json) say(io, 'The secret cannot be shown again.');
}

function stateOf({ status, disabled_because, failing_since }: Webhook): string {
  if (status === 'disabled') return `disabled (${disabled_because})`;
  return failing_since === undefined ? status : `failing since ${failing_since}`;
}

function webhookText(webhook: Webhook): string {
  return facts([
    ['webhook', webhook.webhook_id],
    ['address', webhook.url],
    ['state', stateOf(webhook)],
    ['events', webhook.events.join(' ')],
    ['description', webhook.description],
    ['created', webhook.created_at],
  ]);
}

function addListen(webhooks: Command, io: CliIo): void {
  clientCommand(webhooks, 'listen', 'print one JSON document a line')
    .description('print what webhooks are told, and forward it to an address that the server cannot reach')
    .option('--forward-to <url>', 'where to post each message, such as http://127.0.0.1:3000/webhooks')
    .option(
      '--event <event>',
      `what to be told of (repeatable; the ends if omitted): ${WEBHOOK_EVENTS.join(', ')}`,
      collectEvent,
    )
    .option('--last-event-id <id>', 'begin behind this event of the last day instead of now')
    .addHelpText(
      'after',
      examples(
        ['darkroom webhooks listen --forward-to http://127.0.0.1:3000/webhooks', 'darkroom webhooks listen --json'],
        'Needs a key with generations:read. Messages are signed with the secret that is shown at the start, or with the\none in DARKROOM_WEBHOOK_SECRET. Ctrl-C ends it.',
      ),
    )
    .action(async (options: ListenOptions) => {
      // Loaded only now: help and the other commands start faster without it.
      const { listen } = await import('./listen.js');
      await listen(io, options);
    });
}

function collectEvent(text: string, before: readonly WebhookEvent[] | undefined): readonly WebhookEvent[] {
  const event = WEBHOOK_EVENTS.find((known) => known === text);
  if (event === undefined) throw new InvalidArgumentError(`It must be one of ${WEBHOOK_EVENTS.join(', ')}.`);
  return [...new Set([...(before ?? []), event])];
}
