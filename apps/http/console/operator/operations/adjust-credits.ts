import { creditOperation } from '../credit-operation.js';

export const adjustCredits = creditOperation('adjustments', 'adjust credits', (operator, operation) =>
  operator.adjustCredits(operation),
);
