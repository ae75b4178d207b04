import { status as Status } from '@grpc/grpc-js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Json, JsonObject } from '../../core/json.js';
import type { BuiltClient } from './foreign-clients.js';

/** One step of a client's scenario, as the client saw it. */
export interface Told {
  readonly step: string;
  /** One of the canonical codes. */
  readonly code: Status;
  readonly message?: string;
  /** The messages that came, in the JSON that protobuf defines for them, with the fields' own names. */
  readonly answers: readonly JsonObject[];
  /** Those of a refusal, by their type. */
  readonly details?: Readonly<Record<string, JsonObject>>;
  /** The values of x-request-id in the metadata before an answer or after a refusal. */
  readonly request_ids: readonly string[];
}

/** A client's report, step by step. */
export class PlayedScenario {
  private constructor(readonly lines: readonly Told[]) {}

  /** Runs a client through its scenario. Throws with the client's error output if it could not continue. */
  static async of({ command, args }: BuiltClient, settings: Json): Promise<PlayedScenario> {
    const child = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    // If the client ends before it has read its input, its exit code reports that.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(settings));
    const [output, complaint, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    if (code !== 0)
      throw new Error(
        `The client ended with ${code ?? signal}: ${complaint}${output.split('\n').slice(-3).join('\n')}`,
      );
    return new PlayedScenario(
      output
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Told),
    );
  }

  /** The last step of that name. */
  step(name: string): Told {
    const line = this.lines.findLast(({ step }) => step === name);
    if (line === undefined) throw new Error(`The client told of no step "${name}".`);
    return line;
  }

  /** The only message of a step that was not refused. */
  answer(name: string): JsonObject {
    const { code, message, answers } = this.step(name);
    const [answer, ...others] = answers;
    if (code !== Status.OK || answer === undefined || others.length > 0)
      throw new Error(`"${name}" has no single answer: ${code} ${message}, ${answers.length}`);
    return answer;
  }
}
