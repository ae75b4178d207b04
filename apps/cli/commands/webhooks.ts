import { setTimeout } from 'node:timers/promises';
import { InvalidArgumentError, Option } from 'commander';
import {
  DEFAULT_WEBHOOK,
  type UpdateWebhookRequest,
  type Webhook,
  type WebhookDelivery,
} from '../../../clients/typescript/src/index.js';
import { DELIVERY_STATES, type DeliveryState } from '../../../core/webhooks/delivery.js';
import { SENT_EVENTS, type SentEvent, WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks/endpoint.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { clientCommand, type CliCommand, EXAMPLE_ID, readCount } from '../command.js';
import { usageFailure } from '../exit.js';
import { counted, facts, type Shown, table } from '../terminal.js';
import type { ListenOptions } from './listen.js';

type Webhooks = ReturnType<typeof connect>['webhooks'];

interface EndpointOptions extends ConnectionOptions {
  readonly event?: readonly WebhookEvent[];
  readonly description?: string;
}

interface UpdateOptions extends EndpointOptions {
  readonly address?: string;
  readonly enable?: boolean;
  readonly disable?: boolean;
}

const EVENTS = `what it is told of (repeatable): ${WEBHOOK_EVENTS.join(', ')}`;
const SECRET_NOTE = 'The secret cannot be shown again.';

/** `darkroom webhooks`: the App's endpoints that are notified when generations end. */
export function addWebhooks(program: CliCommand): void {
  const webhooks = program.command('webhooks').description("addresses that are told when an App's generations end");
  const api = (options: ConnectionOptions): Webhooks => connect(program.io, options).webhooks;
  clientCommand(webhooks, 'create <address>')
    .description('add a webhook and show its secret, once')
    .option('--event <event>', `${EVENTS}; the ends if omitted`, collectEvent)
    .option('--description <text>', 'what it is for')
    .examples(['darkroom webhooks create https://app.example/webhooks --description orders'])
    .shows(async (url: string, { event: events, description, ...options }: EndpointOptions) => {
      const request = { url, ...(events && { events: [...events] }), ...(description && { description }) };
      const created = await api(options).create(request);
      const text = `${webhookText(created)}\n${facts({ secret: created.secret })}`;
      return { json: created, text, notes: [SECRET_NOTE] };
    });
  clientCommand(webhooks, 'list')
    .description('list the webhooks')
    .examples(['darkroom webhooks list'])
    .shows(async (options: ConnectionOptions) => {
      const all = await api(options).list();
      const rows = all.map((one) => [one.webhook_id, stateOf(one), one.url, one.description, one.secret_hint]);
      return { json: { webhooks: all }, text: table(['webhook', 'state', 'address', 'description', 'secret'], rows) };
    });
  clientCommand(webhooks, 'update <webhook_id>')
    .description('change a webhook, or enable it again')
    .option('--address <address>', 'its new address')
    .option('--event <event>', EVENTS, collectEvent)
    .option('--description <text>', 'what it is for; an empty one removes it')
    .option('--enable', 'send to it again')
    .option('--disable', 'send nothing to it')
    .examples([`darkroom webhooks update ${EXAMPLE_ID} --enable`])
    .shows(async (id: string, options: UpdateOptions) => {
      const change = changeOf(options);
      const webhook = await api(options).update(id, change);
      return { json: webhook, text: webhookText(webhook) };
    });
  clientCommand(webhooks, 'delete <webhook_id>')
    .description('remove a webhook')
    .examples([`darkroom webhooks delete ${EXAMPLE_ID}`])
    .shows(async (id: string, options: ConnectionOptions) => {
      await api(options).delete(id);
      return { json: { webhook_id: id, deleted: true }, text: `Webhook ${id} is deleted.` };
    });
  clientCommand(webhooks, 'rotate <webhook_id>')
    .description('give a webhook a new secret and show it, once; the one before it is valid for a day more')
    .examples(
      [`darkroom webhooks rotate ${EXAMPLE_ID}`, `darkroom webhooks rotate ${DEFAULT_WEBHOOK}`],
      `${DEFAULT_WEBHOOK} is the secret for addresses of single generations.`,
    )
    .shows(async (id: string, options: ConnectionOptions) => {
      const rotated = await api(options).rotateSecret(id);
      const { secret, previous_secret_expires_at: until } = rotated;
      return { json: rotated, text: facts({ secret, 'the one before until': until }), notes: [SECRET_NOTE] };
    });
  clientCommand(webhooks, 'test <webhook_id>')
    .description('send a webhook a signed test message, and show what it answered')
    .examples([`darkroom webhooks test ${EXAMPLE_ID}`])
    .shows(async (id: string, options: ConnectionOptions) => {
      const tested = await ended(api(options), id, await api(options).test(id));
      return { json: tested, text: testText(tested) };
    });
  addDeliveries(webhooks, api);
  addListen(webhooks);
}

/** How often, and at what intervals in milliseconds, a test is looked at: an attempt takes up to 15 seconds. */
const LOOKS = 40;
const LOOK_EVERY_MS = 500;

/** The delivery once it was tried, or as it is after 20 seconds. */
async function ended(webhooks: Webhooks, id: string, { delivery_id }: WebhookDelivery): Promise<WebhookDelivery> {
  for (let looks = 1; ; looks += 1) {
    await setTimeout(LOOK_EVERY_MS);
    const { deliveries } = await webhooks.listDeliveries(id, { event: 'generation.test', limit: 20 });
    const found = deliveries.find((one) => one.delivery_id === delivery_id);
    if (found !== undefined && (found.state !== 'pending' || looks === LOOKS)) return found;
    if (looks === LOOKS) throw new Error(`Delivery ${delivery_id} is no longer in the log.`);
  }
}

function testText(delivery: WebhookDelivery): string {
  return facts({
    delivery: delivery.delivery_id,
    state: delivery.state,
    answer: lastAnswer(delivery),
    body: delivery.attempts.at(-1)?.body,
  });
}

/** Throws for options that change nothing, or exclude each other. */
function changeOf({ address, event, description, enable, disable }: UpdateOptions): UpdateWebhookRequest {
  if (enable && disable) throw usageFailure('--enable and --disable exclude each other.');
  const change: UpdateWebhookRequest = {
    ...(address === undefined ? {} : { url: address }),
    ...(event === undefined ? {} : { events: [...event] }),
    ...(description === undefined ? {} : { description }),
    ...(enable || disable ? { enabled: enable === true } : {}),
  };
  if (Object.keys(change).length === 0)
    throw usageFailure('Say what to change: --address, --event, --description, --enable or --disable.');
  return change;
}

function stateOf({ status, disabled_because, failing_since }: Webhook): string {
  if (status === 'disabled') return `disabled (${disabled_because})`;
  return failing_since === undefined ? status : `failing since ${failing_since}`;
}

function webhookText(webhook: Webhook): string {
  return facts({
    webhook: webhook.webhook_id,
    address: webhook.url,
    state: stateOf(webhook),
    events: webhook.events.join(' '),
    description: webhook.description,
    created: webhook.created_at,
  });
}

interface DeliveryOptions extends ConnectionOptions {
  readonly state?: DeliveryState;
  readonly since?: string;
  readonly until?: string;
}

interface ListOptions extends DeliveryOptions {
  readonly event?: SentEvent;
  readonly generation?: string;
  readonly limit: number;
  readonly cursor?: string;
}

const MAX_LISTED = 100;

/** Commands that list the messages sent to webhooks and send them again. */
function addDeliveries(webhooks: CliCommand, api: (options: ConnectionOptions) => Webhooks): void {
  ranged(clientCommand(webhooks, 'deliveries <webhook_id>'))
    .description('list the deliveries of a webhook in the last 30 days, newest first')
    .addOption(new Option('--event <event>', 'those that tell this event now').choices(SENT_EVENTS))
    .option('--generation <generation_id>', 'those of this generation')
    .option('--limit <count>', `the most lines to show, 1 to ${MAX_LISTED}`, readCount(MAX_LISTED), MAX_LISTED)
    .option('--cursor <cursor>', 'continue where an earlier page ended')
    .examples([`darkroom webhooks deliveries ${EXAMPLE_ID} --state exhausted`])
    .shows(async (id: string, { limit, cursor, event, generation, ...options }: ListOptions) => {
      const query = {
        limit,
        ...(cursor === undefined ? {} : { cursor }),
        ...(event === undefined ? {} : { event }),
        ...(generation === undefined ? {} : { generation_id: generation }),
        ...rangeOf(options),
      };
      return deliveriesShown(await api(options).listDeliveries(id, query));
    });
  ranged(clientCommand(webhooks, 'replay <webhook_id> [delivery_id]'))
    .description('send one delivery again, or all of a time that were not delivered')
    .examples([
      `darkroom webhooks replay ${EXAMPLE_ID} ${EXAMPLE_ID}`,
      `darkroom webhooks replay ${EXAMPLE_ID} --since 2026-03-14T00:00:00Z`,
    ])
    .shows((id: string, deliveryId: string | undefined, options: DeliveryOptions) =>
      replay(api(options), { id, deliveryId }, rangeOf(options)),
    );
}

function ranged(command: CliCommand): CliCommand {
  return command
    .addOption(new Option('--state <state>', 'those in this state').choices(DELIVERY_STATES))
    .option('--since <time>', 'those made at this time or later, such as 2026-03-14T00:00:00Z', readMoment)
    .option('--until <time>', 'those made before this time', readMoment);
}

function deliveriesShown(page: Awaited<ReturnType<Webhooks['listDeliveries']>>): Shown {
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
  return { json: page, text: table(titles, rows) + more };
}

async function replay(
  webhooks: Webhooks,
  { id, deliveryId }: { readonly id: string; readonly deliveryId: string | undefined },
  range: ReturnType<typeof rangeOf>,
): Promise<Shown> {
  if (deliveryId !== undefined) {
    if (Object.keys(range).length > 0) throw usageFailure('A delivery_id excludes --state, --since and --until.');
    const delivery = await webhooks.replay(id, deliveryId);
    return { json: delivery, text: `Delivery ${delivery.delivery_id} is sent again.` };
  }
  const { created_after, ...more } = range;
  if (created_after === undefined) throw usageFailure('Name a delivery_id, or a time with --since.');
  const replayed = await webhooks.replayAll(id, { created_after, ...more });
  return { json: { replayed }, text: `${counted(replayed, 'delivery is', 'deliveries are')} sent again.` };
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

function readMoment(text: string): string {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new InvalidArgumentError('It must be a time such as 2026-03-14T00:00:00Z.');
  return new Date(at).toISOString();
}

function addListen(webhooks: CliCommand): void {
  clientCommand(webhooks, 'listen', { json: 'print one JSON document a line' })
    .description('print what webhooks are told, and forward it to an address that the server cannot reach')
    .option('--forward-to <url>', 'where to post each message, such as localhost:3000/webhooks')
    .option(
      '--event <event>',
      `what to be told of (repeatable; the ends if omitted): ${WEBHOOK_EVENTS.join(', ')}`,
      collectEvent,
    )
    .option('--last-event-id <id>', 'begin behind this event of the last day instead of now')
    .examples(
      ['darkroom webhooks listen --forward-to localhost:3000/webhooks', 'darkroom webhooks listen --json'],
      'Needs a key with generations:read. Messages are signed with the secret that is shown at the start, or with the\none in DARKROOM_WEBHOOK_SECRET. Ctrl-C ends it.',
    )
    .action(async (options: ListenOptions) => {
      // Loaded only now: help and the other commands start faster without it.
      const { listen } = await import('./listen.js');
      await listen(webhooks.io, options);
    });
}

function collectEvent(text: string, before: readonly WebhookEvent[] | undefined): readonly WebhookEvent[] {
  const event = WEBHOOK_EVENTS.find((known) => known === text);
  if (event === undefined) throw new InvalidArgumentError(`It must be one of ${WEBHOOK_EVENTS.join(', ')}.`);
  return [...new Set([...(before ?? []), event])];
}
