/** What an operation says to the client: its data, as an object or already as JSON text. */
export interface Answer {
  readonly data: object | { readonly text: string };
  /** Whether this is the first answer of an Idempotency-Key, given again. */
  readonly replayed?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Id of the generation that came to be by this request, which the log tells of. */
  readonly createdId?: string;
}
