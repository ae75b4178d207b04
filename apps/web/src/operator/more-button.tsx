interface MoreButtonProps {
  readonly pages: { readonly more?: (() => Promise<void>) | undefined; readonly isReading: boolean };
  /** What there is more of, as in "More keys". */
  readonly what: string;
}

/** Reads the next page of a list, while there is one. */
export function MoreButton({ pages: { more, isReading }, what }: MoreButtonProps) {
  if (more === undefined) return null;
  return (
    <button
      type="button"
      class="outline secondary small more"
      aria-busy={isReading}
      disabled={isReading}
      onClick={() => void more()}
    >
      {`More ${what}`}
    </button>
  );
}
