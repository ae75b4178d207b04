/** JSON of any store's answer. Fields keep the order they were written in, which is the same in every run. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_name, field: unknown) => (field instanceof Map ? [...field.values()] : field));
}
