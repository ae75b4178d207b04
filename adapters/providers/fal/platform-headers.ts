/** The options of an instance beside those of its connection. */
export interface FalOptions {
  readonly output_hosts: readonly string[];
  readonly result_expiry_seconds: number;
  readonly keeps_payloads: boolean;
  readonly server_retries: boolean;
}

/** The shortest and the longest wait for a start that is sent, in seconds. */
const [LEAST_SECONDS, MOST_SECONDS] = [2, 24 * 60 * 60];

/** How fal is to treat a task that has `timeLeftMs` left. The task is not started after that time. */
export function platformHeaders(options: FalOptions, timeLeftMs: number): Readonly<Record<string, string>> {
  const { result_expiry_seconds: expiry, keeps_payloads: keepsPayloads, server_retries: serverRetries } = options;
  const startSeconds = Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, Math.floor(timeLeftMs / 1_000)));
  return {
    'x-fal-request-timeout': String(startSeconds),
    'x-fal-object-lifecycle-preference': JSON.stringify({ expiration_duration_seconds: expiry }),
    ...(keepsPayloads ? {} : { 'x-fal-store-io': '0' }),
    ...(serverRetries ? {} : { 'x-fal-no-retry': '1' }),
  };
}
