"""The headings of every summary; they are English in every conversation."""

SECTIONS = ("Summary", "Decisions", "Files", "State", "Context")
SUMMARY, DECISIONS, FILES, STATE, CONTEXT = (f"## {name}" for name in SECTIONS)
KEPT_FACTS = "## Kept facts"
TRANSLATED = {
    "Summary": (
        *("Zusammenfassung", "Résumé", "Resumen", "Resumo", "Sumário", "Riassunto", "Sommario", "Резюме", "Сводка"),
        *("Краткое содержание", "摘要", "总结", "總結", "概要", "要約", "まとめ"),
    ),
    "Decisions": (
        *("Entscheidungen", "Décisions", "Decisiones", "Decisões", "Decisioni", "Решения"),
        *("决定", "決定", "决策", "決策", "決定事項"),
    ),
    "Files": (
        "Dateien",
        "Fichiers",
        "Archivos",
        "Ficheros",
        "Arquivos",
        "Ficheiros",
        "Файлы",
        "文件",
        "檔案",
        "ファイル",
    ),
    "State": ("Stand", "Zustand", "Status", "État", "Estado", "Stato", "Состояние", "状态", "狀態", "状態", "現状"),
    "Context": ("Kontext", "Contexte", "Contexto", "Contesto", "Контекст", "上下文", "背景", "文脈", "コンテキスト"),
}
"""The headings as models write them in spite of their instructions, in nine languages."""
