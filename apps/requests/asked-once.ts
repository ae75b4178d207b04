/**
 * Makes one check for all concurrent callers, and treats no answer within `limitMs` as a no: probes arrive at their own
 * rate, however slowly a store answers.
 */
export function askedOnce(ask: () => Promise<boolean>, limitMs: number): () => Promise<boolean> {
  let underWay: Promise<boolean> | undefined;
  return () => {
    underWay ??= answeredWithin(ask, limitMs).finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

function answeredWithin(ask: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), limitMs);
    timer.unref();
    ask()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
