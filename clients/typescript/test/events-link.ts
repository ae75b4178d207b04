import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Answered = (answer: IncomingMessage) => void;
/** Responds to a request for events, or forwards it. */
export type OnEvents = (response: ServerResponse, pass: (onAnswer: Answered) => void) => void;

/** A proxy to the service that answers, cuts or forwards the requests for events. */
export class EventsLink {
  onEvents: OnEvents = passOn;
  /** The Last-Event-ID of each request for events, and how many other reads there were. */
  asked: { events: string[]; polls: number } = { events: [], polls: 0 };

  private constructor(private readonly server: Server) {}

  static async to(serviceUrl: string): Promise<EventsLink> {
    const server = createServer();
    const link = new EventsLink(server);
    server.on('request', (incoming, response) => {
      const { url = '', method, headers } = incoming;
      const pass = (onAnswer: Answered) => {
        const outgoing = request(`${serviceUrl}${url}`, { method, headers }, onAnswer);
        incoming.pipe(outgoing);
        response.once('close', () => outgoing.destroy());
      };
      if (url.endsWith('/events')) {
        link.asked.events.push(String(headers['last-event-id']));
        link.onEvents(response, pass);
        return;
      }
      if (method === 'GET') link.asked.polls += 1;
      pass(passed(response));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return link;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export const passOn: OnEvents = (response, pass) => pass(passed(response));

/**
 * Forwards this number of events and cuts the stream within the next one; a stream of fewer events is forwarded
 * completely.
 */
export const cutAfter =
  (count: number): OnEvents =>
  (response, pass) =>
    pass((answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      let text = '';
      let sent = 0;
      answer
        .on('error', () => undefined)
        .on('data', (chunk: Buffer) => {
          text += chunk.toString();
          const ends = [...text.matchAll(/^data: .*\n\n/gm)].map(({ index, 0: line }) => index + line.length);
          const end = ends[count - 1];
          if (answer.destroyed) return;
          if (end === undefined) {
            response.write(text.slice(sent));
            sent = text.length;
            return;
          }
          answer.destroy();
          response.write(`${text.slice(sent, end)}id: 99\nevent: ended\nda`, () => response.destroy());
        });
    });

function passed(response: ServerResponse): Answered {
  return (answer) => {
    answer.on('error', () => undefined).pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
  };
}
