import { Agent, request } from 'undici';
import { signedHeaders } from '../../adapters/webhooks/signature.js';
import { answerCommands } from '../child.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';

export interface Posting {
  readonly urls: readonly string[];
  readonly body: string;
  /** How many messages, and how many of them at once. */
  readonly count: number;
  readonly atOnce: number;
}

const KEY = 'ab'.repeat(32);
const agent = new Agent();

/**
 * The control of webhooks, in a process of its own: it signs a body and posts it, over connections that are kept. It reads
 * and writes no record, resolves no name and checks no address.
 */
const commands = {
  async post({ urls, body, count, atOnce }: Posting): Promise<{ readonly elapsedMs: number }> {
    const beganAtMicros = machineMicros();
    let begun = 0;
    const one = async (): Promise<void> => {
      while (begun < count) {
        const number = begun;
        begun += 1;
        const headers = signedHeaders({ messageId: `msg_${number}`, sentAt: Date.now(), body }, [KEY]);
        const answer = await request(urls[number % urls.length] ?? '', {
          method: 'POST',
          dispatcher: agent,
          headers: { 'content-type': 'application/json', ...headers },
          body,
        });
        await answer.body.dump();
        if (answer.statusCode >= 300) throw new Error(`The receiver answered ${answer.statusCode}.`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, one));
    return { elapsedMs: (machineMicros() - beganAtMicros) / 1_000 };
  },
  usage: usageOfThisProcess,
};

export type BarePostsCommands = typeof commands;

answerCommands(commands, () => agent.destroy());
