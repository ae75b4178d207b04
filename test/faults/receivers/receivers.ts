import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { JsonObject } from '../../../core/json.js';
import { asObject, textOf } from '../../history/values.js';
import type { Link, Toxiproxy } from '../harness/toxiproxy.js';
import type { Conduct, Message } from '../../history/recorded/history.js';

/** How a receiver treats messages. `endless` accepts a message and sends an endless response. */
export type ReceiverTrouble = 'hang' | 'reset' | 'fail' | 'redirect' | 'slow' | 'busy' | 'endless';

/** A trouble under way. */
export interface ReceiverSuffering {
  readonly trouble: ReceiverTrouble;
  /** Messages that could have met the trouble, and those that did: every second one. */
  met: number;
  hits: number;
}

type Received = { -readonly [M in keyof Message]: Message[M] };

interface Expected {
  readonly conduct: Conduct;
  readonly webhook: Webhook;
}

const REDIRECTED = '/redirected';
/** Shorter than a sender's timeout. */
const SLOW_MS = 1_500;
/** A receiver with conduct `leaves` is gone after this message. */
const LEAVES_AT = 3;
const PIECE = Buffer.alloc(16 * 1024);

/**
 * An HTTP server that receives webhooks at paths that name endpoints, verifies each with the public library, records
 * it, and answers as configured.
 */
export class Receiver {
  readonly messages: Message[] = [];
  followedRedirects = 0;
  private readonly expected = new Map<string, Expected>();
  private readonly sufferings = new Set<ReceiverSuffering>();
  private readonly left = new Map<string, number>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      this.receive(request, response).catch(() => response.destroy());
    });
    this.server.on('clientError', (_, socket) => socket.destroy());
  }

  static async open(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.server.listen(0, '127.0.0.1');
    await once(receiver.server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Messages to this path are signed by this secret. */
  expect(endpoint: string, secret: string, conduct: Conduct): void {
    this.expected.set(endpoint, { conduct, webhook: new Webhook(secret) });
  }

  suffer(trouble: ReceiverTrouble): ReceiverSuffering {
    const suffering = { trouble, met: 0, hits: 0 };
    this.sufferings.add(suffering);
    return suffering;
  }

  cure(suffering: ReceiverSuffering): void {
    this.sufferings.delete(suffering);
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === REDIRECTED) this.followedRedirects += 1;
    const body = await text(request);
    const endpoint = (request.url ?? '').slice(1);
    const expected = this.expected.get(endpoint);
    const message: Received = { endpoint, at: now(), ...read(request, body, expected) };
    this.messages.push(message);
    await this.answer(message, expected?.conduct ?? 'refuses', response);
  }

  private async answer(message: Received, conduct: Conduct, response: ServerResponse): Promise<void> {
    const answered = (status: number, headers: Record<string, string> = {}) => {
      message.answered = { at: now(), status };
      return response.writeHead(status, headers);
    };
    const trouble = this.troubleNow();
    switch (trouble) {
      case 'hang':
        return;
      case 'reset':
        response.socket?.resetAndDestroy();
        return;
      case 'fail':
        answered(500).end();
        return;
      case 'busy':
        answered(503, { 'Retry-After': '1' }).end();
        return;
      case 'redirect':
        answered(307, { Location: `http://127.0.0.1:${this.port}${REDIRECTED}` }).end();
        return;
      case 'slow':
        await sleep(SLOW_MS);
        break;
      case 'endless':
        writeWithoutEnd(answered(200));
        return;
      case undefined:
        break;
    }
    if (!response.writable) return;
    answered(this.statusOf(message.endpoint, conduct)).end();
  }

  private statusOf(endpoint: string, conduct: Conduct): number {
    if (conduct !== 'leaves') return conduct === 'takes' ? 200 : 500;
    const came = (this.left.get(endpoint) ?? 0) + 1;
    this.left.set(endpoint, came);
    return came < LEAVES_AT ? 200 : 410;
  }

  /** The first trouble whose turn it is: a message may match several, but meets one. */
  private troubleNow(): ReceiverTrouble | undefined {
    for (const suffering of this.sufferings) {
      suffering.met += 1;
      if (suffering.met % 2 === 0) continue;
      suffering.hits += 1;
      return suffering.trouble;
    }
    return undefined;
  }
}

function read(
  { headers }: IncomingMessage,
  body: string,
  expected: Expected | undefined,
): Pick<Message, 'id' | 'type' | 'task' | 'signatureFault'> {
  const id = textOf(headers['webhook-id']);
  try {
    if (expected === undefined) throw new Error('Nobody expects messages here.');
    expected.webhook.verify(body, headers as Record<string, string>);
    const { type, data } = JSON.parse(body) as JsonObject;
    return { id, type: textOf(type), task: asObject(data) };
  } catch (error) {
    return { id, type: 'unknown', task: {}, signatureFault: String(error) };
  }
}

/** Writes until the other side closes the connection. */
function writeWithoutEnd(response: ServerResponse): void {
  const write = (): void => {
    while (response.writable && response.write(PIECE));
  };
  response.on('drain', write);
  write();
}

/** The clients' clock. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

export const RECEIVER_NAMES = ['receiver-1', 'receiver-2'] as const;
export type ReceiverName = (typeof RECEIVER_NAMES)[number];

interface Place {
  readonly receiver: Receiver;
  readonly link: Link;
}

/** The receivers of webhooks, each behind one link that all workers share. */
export class Receivers {
  private constructor(private readonly places: ReadonlyMap<ReceiverName, Place>) {}

  /** `name` distinguishes their links from those of other runs. */
  static async open(name: string, toxiproxy: Toxiproxy): Promise<Receivers> {
    const places = new Map<ReceiverName, Place>();
    for (const one of RECEIVER_NAMES) {
      const receiver = await Receiver.open();
      places.set(one, { receiver, link: await toxiproxy.link(`${name}-${one}`, receiver.port) });
    }
    return new Receivers(places);
  }

  /** The hosts that the operator must allow, because addresses of this machine are blocked by default. */
  get allowedHosts(): string {
    return RECEIVER_NAMES.map((name) => `127.0.0.1:${this.link(name).port}`).join();
  }

  urlOf(name: ReceiverName, endpoint: string): string {
    return `http://127.0.0.1:${this.link(name).port}/${endpoint}`;
  }

  receiver(name: ReceiverName): Receiver {
    return this.place(name).receiver;
  }

  link(name: ReceiverName): Link {
    return this.place(name).link;
  }

  get messages(): Message[] {
    return [...this.places.values()].flatMap(({ receiver }) => receiver.messages).sort((a, b) => a.at - b.at);
  }

  get followedRedirects(): number {
    return [...this.places.values()].reduce((sum, { receiver }) => sum + receiver.followedRedirects, 0);
  }

  async close(): Promise<void> {
    for (const { receiver, link } of this.places.values()) await Promise.all([link.remove(), receiver.close()]);
  }

  private place(name: ReceiverName): Place {
    const place = this.places.get(name);
    if (place === undefined) throw new Error(`There is no receiver ${name}.`);
    return place;
  }
}
