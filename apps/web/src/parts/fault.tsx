interface FaultProps {
  /** Nothing is shown without one. */
  readonly text: string | undefined;
}

/** Why something did not work. */
export function Fault({ text }: FaultProps) {
  if (text === undefined) return null;
  return (
    <p class="fault" role="alert">
      {text}
    </p>
  );
}
