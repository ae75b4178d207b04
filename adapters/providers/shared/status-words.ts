import type { ProviderReport } from '../../../core/ports/provider.js';

/** The meaning of the status of a task at a provider. */
export type StatusMeaning = Exclude<ProviderReport['state'], 'unknown'>;

/**
 * The words for the status of a task, in lower case with underscores. They are those of OpenAI, Replicate and
 * stable-diffusion.cpp, and those with which gateways and other vendors answer on the same routes: new-api and one-api
 * (NOT_START, SUBMITTED, FAILURE), Kling (submitted, processing, succeed), Volcengine (queued, running, expired), DashScope
 * (PENDING, SUCCEEDED, CANCELED), Runway (THROTTLED), Luma (dreaming) and Google (done).
 */
const WORDS: Readonly<Record<StatusMeaning, string>> = {
  running:
    'queued queueing queue in_queue on_queue not_start not_started submitted pending created accepted scheduled waiting wait starting started start preparing initializing initialized processing process in_process in_progress inprogress progress running run generating rendering dreaming active throttled retrying uploading finalizing',
  succeeded: 'completed complete succeeded success succeed successful finished finish done generated',
  failed:
    'failed fail failure error errored expired timeout timed_out timedout rejected moderated content_moderated request_moderated',
  cancelled: 'cancelled canceled cancel aborted stopped revoked',
};

const MEANINGS: ReadonlyMap<string, StatusMeaning> = new Map(
  Object.entries(WORDS).flatMap(([meaning, words]) =>
    words.split(' ').map((word) => [word, meaning as StatusMeaning] as const),
  ),
);

/** The meaning of a status, in any case and with any separators; undefined for an unknown word. */
export function statusMeaning(word: string): StatusMeaning | undefined {
  return MEANINGS.get(
    word
      .trim()
      .toLowerCase()
      .replaceAll(/[\s.-]+/g, '_'),
  );
}

const LONGEST_SHOWN = 64;

/** A word of the other side as it may be logged: printable ASCII of bounded length. */
export function shownStatus(word: string): string {
  return word.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, LONGEST_SHOWN);
}
