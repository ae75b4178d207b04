import type { Log } from '../../../../core/log.js';
import { isUuid } from '../../../../core/uuid.js';

/** What the log says of an act besides who did it: ids and numbers, never texts of people. */
export type ActDetails = Readonly<Record<string, string | number | boolean | undefined>>;

interface Begun {
  readonly act: string;
  readonly operatorId: string;
  readonly requestId: string;
  /** The parameters of the path, such as `account_id`. What is no id is left out, as it could be anything. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The record of one act of an operator: a line before it has any effect, and one with its outcome before it is answered.
 * A process that ends between the two leaves the first.
 */
export class OperatorAct {
  private details: ActDetails = {};

  constructor(
    private readonly log: Log,
    private readonly begun: Begun,
    /** Whether it is recorded at all. */
    private readonly isRecorded: boolean,
  ) {}

  begin(): void {
    this.write('begun');
  }

  /** What is learned of it on the way. */
  note(details: ActDetails): void {
    this.details = { ...this.details, ...details };
  }

  /** `done`, or the code of a refusal or failure. */
  end(outcome: string): void {
    this.write(outcome);
  }

  private write(outcome: string): void {
    if (!this.isRecorded) return;
    const { params, ...begun } = this.begun;
    this.log.info('operator act', { ...begun, outcome, ...idsOf(params), ...this.details });
  }
}

function idsOf(params: Begun['params']): ActDetails {
  const ids = Object.entries(params).filter(([, value]) => isUuid(value));
  return Object.fromEntries(ids.map(([name, value]) => [name.replace('_id', 'Id'), value.toLowerCase()]));
}
