import { percentile } from '../statistics.js';
import { machineMicros } from '../usage.js';
import { Connection, type HttpAnswer } from './requests.js';

const BASE = '/api/v1/developer/generations';
/** Connections that are opened at the same time; a server's queue of new ones is short. */
const OPENED_AT_ONCE = 100;

export interface Waiters {
  readonly port: number;
  readonly credential: string;
  readonly generationIds: readonly string[];
}

export interface Opened extends Waiters {
  readonly pipelined?: number;
}

export interface Woken {
  /** From sending the cancel that ends a generation to the response of the client that waited for it. */
  readonly wakeMicros: { readonly p50: number; readonly p99: number };
  /** From sending the cancel to its own response. */
  readonly cancelMicros: { readonly p50: number; readonly p99: number };
}

const connections: Connection[] = [];
let waiting: { readonly generationId: string; readonly answered: Promise<HttpAnswer> }[] = [];

function text(method: string, path: string, credential: string, more = ''): string {
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${credential}\r\n${more}\r\n`;
}

/** Clients that wait, each on a connection of its own, and what their generations' ends cost them. */
export const waiterCommands = {
  /** Opens a connection for each generation, and sends this number of concurrent requests for it. */
  async openConnections({ port, credential, generationIds, pipelined = 1 }: Opened): Promise<void> {
    const left = [...generationIds];
    const openSome = async (): Promise<void> => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        const connection = await Connection.open(port);
        connections.push(connection);
        const request = text('GET', `${BASE}/${id}`, credential);
        const answers = await Promise.all(Array.from({ length: pipelined }, () => connection.send(request)));
        answers.forEach(require200);
      }
    };
    await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openSome));
  },

  closeConnections(): void {
    for (const connection of connections.splice(0)) connection.close();
  },

  /** Makes all of them wait, each for another generation. */
  wait({ credential, generationIds }: Omit<Waiters, 'port'>): void {
    waiting = connections.map((connection, index) => {
      const generationId = generationIds[index] ?? '';
      return {
        generationId,
        answered: connection.send(text('GET', `${BASE}/${generationId}`, credential, 'Prefer: wait=60\r\n')),
      };
    });
  },

  /** Ends the generations of some, one after the other, and times who waits for them. */
  async wake({ port, credential, count }: { port: number; credential: string; count: number }): Promise<Woken> {
    const own = await Connection.open(port);
    const wakes: number[] = [];
    const cancels: number[] = [];
    for (const { generationId, answered } of waiting.slice(0, count)) {
      const sentAt = machineMicros();
      const cancel = own
        .send(text('POST', `${BASE}/${generationId}/cancel`, credential, 'Content-Length: 0\r\n'))
        .then((answer) => (require200(answer), machineMicros() - sentAt));
      const wake = answered.then((answer) => (require200(answer), machineMicros() - sentAt));
      const [woken, cancelled] = await Promise.all([wake, cancel]);
      wakes.push(woken);
      cancels.push(cancelled);
    }
    const times = (all: readonly number[]) => ({ p50: percentile(all, 0.5), p99: percentile(all, 0.99) });
    for (const connection of [own, ...connections.splice(0)]) connection.close();
    // The closed connections make the remaining waiters reject, and nobody handles those errors.
    for (const { answered } of waiting) answered.catch(() => undefined);
    return { wakeMicros: times(wakes), cancelMicros: times(cancels) };
  },
};

function require200({ status, body }: HttpAnswer): void {
  if (status !== 200) throw new Error(`A waiting client was answered ${status}: ${body.slice(0, 300)}`);
}
