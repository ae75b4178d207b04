/**
 * An amount as a person reads it: `8 credits`, `1 credit`. Another currency is the operator's own word and stays as it
 * is.
 */
export function amountText(count: number, currency = 'credits'): string {
  return `${count} ${count === 1 && currency === 'credits' ? 'credit' : currency}`;
}
