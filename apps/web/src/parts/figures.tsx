export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

/** The figures that matter most, side by side; where they are many, narrower. */
export function Figures({
  figures,
  isNarrow = false,
}: {
  readonly figures: readonly Figure[];
  readonly isNarrow?: boolean;
}) {
  return (
    <dl class={isNarrow ? 'figures narrow' : 'figures'}>
      {figures.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong>
            <span class="quiet">{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
