/** The database cannot store wake-ups as it is; the message tells the operator why, and what to do. */
export class AgendaRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'AgendaRefused';
  }
}
