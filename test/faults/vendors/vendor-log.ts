import type { JsonObject } from '../../../core/json.js';
import { COMPOSITE, TRAINED, withMark } from '../../fixtures/marked-media.js';
import { asObject, textOf } from '../../history/values.js';
import type { FakeAnswer, LoggedRequest } from '../../providers/fakes/fake-server.js';
import { sha256Of } from '../clients/api-client.js';
import type { NotFound, VendorHistory, VendorSubmission, VendorTask } from '../../history/recorded/history.js';
import { vendorPicture } from './vendor-picture.js';

type Requests = readonly LoggedRequest[];

/** Builds the task that a submission created, from the answer to it. */
type TaskIn = (answer: JsonObject, takenAt: number) => Omit<VendorTask, 'deliveredSha256'>;

const PROMPT_NODE = '2';

/** The prompt in a graph of `WORKFLOWS`. */
export function promptOf(graph: object): string {
  const { inputs } = (graph as Record<string, { readonly inputs: JsonObject }>)[PROMPT_NODE] ?? {};
  return textOf(inputs?.['value']);
}

/**
 * Answers contain the pictures: a task has ended when it was accepted. The vendor cannot know whether a client received
 * that end.
 */
export function imagesLog(maker: string, requests: Requests): VendorHistory {
  const taskIn: TaskIn = (_, takenAt) => ({ id: `at ${takenAt}`, takenAt, endedAt: takenAt });
  return {
    submissions: submissions(requests, taskIn, (body) => ({ maker, prompt: textOf(body['prompt']) })),
    notFound: [],
  };
}

const ENDED_PREDICTION = ['succeeded', 'failed', 'canceled', 'aborted'];

export function predictionsLog(maker: string, requests: Requests): VendorHistory {
  const toldAt = firstTold(requests, (answer) => {
    const { id, status } = objectIn(answer);
    return ENDED_PREDICTION.includes(textOf(status)) ? textOf(id) : undefined;
  });
  const taskIn: TaskIn = (answer, takenAt) => {
    const id = textOf(answer['id']);
    const endToldAt = toldAt.get(id);
    return { id, takenAt, ...(endToldAt === undefined ? {} : { endedAt: endToldAt, endToldAt }) };
  };
  const about = (body: JsonObject) => ({ maker, prompt: textOf(asObject(body['input'])['prompt']) });
  return { submissions: submissions(requests, taskIn, about), notFound: [] };
}

const ENDED_JOB = ['completed', 'failed', 'cancelled'];

/** `ends` are in order: an id that was accepted twice has two. */
export function comfyUiLog(
  maker: string,
  requests: Requests,
  ends: readonly { readonly id: string; readonly at: number }[],
): VendorHistory {
  const toldAt = firstTold(requests, (answer) => {
    const { id, status } = objectIn(answer);
    return ENDED_JOB.includes(textOf(status)) ? textOf(id) : undefined;
  });
  const left = [...ends];
  const taskIn: TaskIn = (answer, takenAt) => {
    const id = textOf(answer['prompt_id']);
    const at = left.findIndex((end) => end.id === id);
    const endedAt = at < 0 ? undefined : left.splice(at, 1)[0]?.at;
    const endToldAt = toldAt.get(id);
    return {
      id,
      takenAt,
      ...(endedAt === undefined ? {} : { endedAt }),
      ...(endToldAt === undefined ? {} : { endToldAt }),
    };
  };
  const about = (body: JsonObject) => ({
    maker,
    prompt: promptOf(asObject(body['prompt'])),
    token: textOf(body['prompt_id']),
  });
  return { submissions: submissions(requests, taskIn, about), notFound: notFoundJobs(maker, requests) };
}

const JOB = /^\/api\/jobs\/([^/]+)$/;

function notFoundJobs(maker: string, requests: Requests): NotFound[] {
  return requests.filter(isAnswered).flatMap(({ path, handledAt, answers }) => {
    const token = JOB.exec(path)?.[1];
    return answers.flatMap(({ status }, index): NotFound[] =>
      token !== undefined && status === 404 ? [{ maker, token, at: handledAt[index] ?? 0 }] : [],
    );
  });
}

/**
 * Whether the answers were sent: a request that met a fault may have been handled without anybody receiving its answer.
 */
function isAnswered({ fault }: LoggedRequest): boolean {
  return fault === undefined || fault.type === 'slow-answer';
}

/** When an answer first named each thing, in the order in which answers were made. */
function firstTold(requests: Requests, named: (answer: FakeAnswer) => string | undefined): ReadonlyMap<string, number> {
  const told = new Map<string, number>();
  for (const { answers, handledAt } of requests.filter(isAnswered).filter(({ of }) => !of.includes('submit'))) {
    for (const [index, answer] of answers.entries()) {
      const name = named(answer);
      const at = handledAt[index] ?? Infinity;
      if (name !== undefined && at < (told.get(name) ?? Infinity)) told.set(name, at);
    }
  }
  return told;
}

/** Complete submissions only: the purpose of others is unknown, and they create nothing. */
function submissions(
  requests: Requests,
  taskIn: TaskIn,
  about: (body: JsonObject) => Pick<VendorSubmission, 'maker' | 'prompt' | 'token'>,
): VendorSubmission[] {
  return requests
    .filter(({ of, isWhole }) => of.includes('submit') && isWhole)
    .flatMap(({ arrivedAt, handledAt, answers, fault, body }) => {
      const submission = { ...about(JSON.parse(body.toString()) as JsonObject), arrivedAt };
      const picture = vendorPicture(submission.maker, submission.prompt);
      const deliveredSha256 = {
        trained: sha256Of(withMark(picture, TRAINED)),
        composite: sha256Of(withMark(picture, COMPOSITE)),
      };
      if (answers.length === 0)
        return [fault?.type === 'status' ? { ...submission, refusedAt: arrivedAt } : submission];
      return answers.map((answer, index) => {
        const at = handledAt[index] ?? arrivedAt;
        return (answer.status ?? 200) < 300
          ? { ...submission, task: { ...taskIn(objectIn(answer), at), deliveredSha256 } }
          : { ...submission, refusedAt: at };
      });
    });
}

function objectIn({ json }: FakeAnswer): JsonObject {
  return asObject((json ?? {}) as JsonObject);
}
