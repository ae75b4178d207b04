/** The database cannot carry wake-ups as it is; the message tells the operator why, and the way out. */
export class AgendaRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'AgendaRefused';
  }
}
