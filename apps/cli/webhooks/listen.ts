import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, type Command } from 'commander';
import type { Darkroom } from '../../../clients/typescript/src/index.js';
import { secretText } from '../../../adapters/webhooks/signature.js';
import { END_EVENTS, WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks/events.js';
import { connect, type ConnectionOptions } from '../client/connection.js';
import { Interruption } from '../client/interruption.js';
import { clientCommand } from '../commands/client-command.js';
import { examples } from '../commands/examples.js';
import { counted } from '../counted.js';
import { usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { print, say } from '../terminal.js';
import { Forwarder, type Attempt } from './forwarder.js';
import { messageOf, type ListenedMessage } from './listened-message.js';
import { postMessage } from './post-message.js';

const SECRET_BYTES = 32;
/** About two hours without a service, which may be restarted, or a network, which may be asleep. */
const MAX_TRIES = 1_000;

interface Options extends ConnectionOptions {
  readonly forwardTo?: string;
  readonly event?: readonly WebhookEvent[];
  readonly lastEventId?: string;
  readonly json?: boolean;
}

/** `darkroom webhooks listen`: what a webhook would be sent, on this machine. */
export function addListen(webhooks: Command, io: CliIo): void {
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
    .action((options: Options) => listen(io, options));
}

export function collectEvent(text: string, before: readonly WebhookEvent[] | undefined): readonly WebhookEvent[] {
  const event = WEBHOOK_EVENTS.find((known) => known === text);
  if (event === undefined) throw new InvalidArgumentError(`It must be one of ${WEBHOOK_EVENTS.join(', ')}.`);
  return [...new Set([...(before ?? []), event])];
}

async function listen(io: CliIo, options: Options): Promise<void> {
  const client = connect(io, options);
  const url = options.forwardTo === undefined ? undefined : readTarget(options.forwardTo);
  const secret = url === undefined ? '' : readSecret(io);
  const interruption = new Interruption(io.signals);
  const { signal, leaving } = interruption;
  const forwarder = new Forwarder(
    (message) => postMessage(message, { url: url ?? '', secret }, leaving),
    (attempt) => print(io, options.json ? JSON.stringify(attemptJson(attempt)) : attemptText(attempt)),
    signal,
  );
  try {
    await follow(io, client, { ...options, signal }, async (message, eventId) => {
      if (url !== undefined) await forwarder.take(message);
      else print(io, options.json ? JSON.stringify({ ...messageJson(message), event_id: eventId }) : textOf(message));
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    // What is on its way is waited for; a second Ctrl-C ends that too.
    await forwarder.settled().catch((failure: unknown) => {
      if (!leaving.aborted) throw failure;
      io.leaveBehind(0);
    });
    const { delivered, exhausted } = forwarder.counts;
    if (url !== undefined) say(io, `Ended: ${counted(delivered, 'message')} delivered, ${exhausted} given up.`);
  } finally {
    interruption.release();
  }
}

type Following = Options & { readonly signal: AbortSignal };

/** Without end: until the signal fires, or the server refuses. */
async function follow(
  io: CliIo,
  client: Darkroom,
  { forwardTo, event: wanted = END_EVENTS, lastEventId, signal }: Following,
  onMessage: (message: ListenedMessage, eventId: string | undefined) => Promise<void>,
): Promise<void> {
  let isCut = false;
  const events = client.appEvents({
    signal,
    lastEventId,
    maxTries: MAX_TRIES,
    onOpen: () => {
      isCut = false;
      say(io, `Listening for ${wanted.join(', ')}${forwardTo === undefined ? '' : ` for ${forwardTo}`}.`);
    },
    // Once for each interruption: up to two hours of tries would fill the terminal.
    onRetry: () => {
      if (!isCut) say(io, 'The stream was cut, or the server does not answer; trying again until it does.');
      isCut = true;
    },
  });
  for await (const event of events) {
    const message = messageOf(event);
    if (message !== undefined && wanted.includes(message.event)) await onMessage(message, event.id);
  }
}

function readTarget(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw usageFailure(`--forward-to must be an http or https URL without a password, not ${text}.`);
  return url.href;
}

/** A given one is not shown again. */
function readSecret(io: CliIo): string {
  const given = io.environment['DARKROOM_WEBHOOK_SECRET']?.trim();
  if (!given) {
    const secret = secretText(randomBytes(SECRET_BYTES).toString('hex'));
    say(io, `Messages are signed with the secret ${secret}`);
    return secret;
  }
  if (!/^whsec_(?:[A-Za-z0-9+/]{4}){8,}(?:[A-Za-z0-9+/]{2,3}={1,2})?$/.test(given))
    throw usageFailure('DARKROOM_WEBHOOK_SECRET must be whsec_ and at least 24 bytes in base64.');
  return given;
}

function messageJson({ messageId, event, generationId, occurredAt }: ListenedMessage): object {
  return { message_id: messageId, type: event, generation_id: generationId, occurred_at: occurredAt };
}

function textOf({ event, generationId, occurredAt }: ListenedMessage): string {
  return `${occurredAt}  ${event}  ${generationId}`;
}

function attemptJson({ message, attempt, state, status, fault, tookMs }: Attempt): object {
  return {
    ...messageJson(message),
    attempt,
    state,
    ...(status === undefined ? {} : { status }),
    ...(fault === undefined ? {} : { error: fault }),
    took_ms: tookMs,
  };
}

function attemptText({ message, state, status, fault, tookMs, waitSeconds }: Attempt): string {
  const next = state === 'delivered' ? '' : waitSeconds === undefined ? ', given up' : `, again in ${waitSeconds} s`;
  return `${textOf(message)}  ${status ?? fault} (${tookMs} ms)${next}`;
}
