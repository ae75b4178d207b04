import type { Command } from 'commander';
import {
  DEFAULT_WEBHOOK,
  type CreateWebhookRequest,
  type UpdateWebhookRequest,
  type Webhook,
} from '../../../clients/typescript/src/index.js';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks/events.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { facts, say, show, table } from '../terminal.js';
import { addListen, collectEvent } from '../webhooks/listen.js';
import { clientCommand } from './client-command.js';
import { EXAMPLE_ID, examples } from './examples.js';
import { addDeliveries } from './webhook-deliveries.js';

interface Options extends ConnectionOptions {
  readonly json?: boolean;
}

interface EndpointOptions extends Options {
  readonly event?: readonly WebhookEvent[];
  readonly description?: string;
}

interface UpdateOptions extends EndpointOptions {
  readonly address?: string;
  readonly enable?: boolean;
  readonly disable?: boolean;
}

const EVENTS = `what it is told of (repeatable): ${WEBHOOK_EVENTS.join(', ')}`;

/** `darkroom webhooks`: the addresses of the key's App that are told when generations end. */
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
    .action((options: Options) => list(io, options));
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
    .action(async (id: string, options: Options) => {
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
    .action((id: string, options: Options) => rotate(io, id, options));
  addDeliveries(webhooks, io);
  addListen(webhooks, io);
}

async function create(io: CliIo, request: CreateWebhookRequest, options: Options): Promise<void> {
  const created = await connect(io, options).webhooks.create(request);
  show(io, { json: created, text: `${webhookText(created)}\n${facts([['secret', created.secret]])}` }, options);
  if (!options.json) say(io, 'The secret cannot be shown again.');
}

async function list(io: CliIo, options: Options): Promise<void> {
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

async function rotate(io: CliIo, id: string, options: Options): Promise<void> {
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
