"""Does search_memory find the right file, and what does each of its five fields bring?"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.checked import body_of

from bench.material import ME, fresh
from memolith.bootstrap import App
from memolith.tools.call import Call

ROOT = Path(__file__).parents[1]
FIELDS = (
    "bm25_cleaned_query",
    "named_entities",
    "bm25_keywords",
    "bm25_boost_keywords",
    "rewritten_query_for_dense_model",
)
BAR = 0.9
CHINESE = {
    "员工手册.txt": "新员工入职第一周要完成安全培训。年假每年十五天，病假需要医生证明。迟到三次要写书面说明。",
    "季度报告.txt": "北京分公司第三季度销售额为一千二百万元，比去年同期增长百分之十二。上海分公司没有变化。",
    "设备维护.txt": "更换电池之前请先关闭电源。每六个月清洗一次过滤网，否则压缩机会过热。",
    "会议记录.txt": "王经理决定推迟新产品的发布，原因是包装供应商无法按时交货。下次会议在周五举行。",
    "旅行指南.txt": "从杭州坐高铁到苏州大约两个小时。拙政园早上七点半开门，门票八十元。",
    "菜谱.txt": "红烧肉要先焯水，再用冰糖炒糖色，小火炖一个半小时。最后大火收汁。",
    "合同.txt": "乙方应在收到发票后三十天内付款。逾期付款的，每天按千分之一支付违约金。",
    "网络安全.txt": "所有服务器必须启用双因素认证。密码至少十二位，每九十天更换一次。",
    "采购清单.txt": "需要采购二十台笔记本电脑、五台打印机和一台投影仪，预算为三十万元。",
    "实验笔记.txt": "样品在八十摄氏度加热两小时后变成蓝色，加入盐酸以后颜色消失。",
}


def load(app: App, folder: Path) -> int:
    """Take in the sample files, the project's own pages and the Chinese texts; how many there are."""
    pages = {
        path: path.name for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    }
    pages[ROOT / "docs" / "why" / "README.md"] = "why.md"
    for name, text in CHINESE.items():
        (folder / name).write_text(text, encoding="utf-8")
        pages[folder / name] = name
    good = (ROOT / "tests" / "files" / "README.md").read_text().split("## Hostile")[0]
    pages |= {
        path: path.name
        for path in sorted((ROOT / "tests" / "files").iterdir())
        if f"| {path.name} |" in good
    }
    for path, name in pages.items():
        app.engine.documents.ingest(ME, path, name)
    app.upkeep.run()
    return len(pages)


def questions() -> list[tuple[str, dict[str, Any]]]:
    """The file that answers, and the question in its five fields."""
    found = []
    for line in (
        (ROOT / "bench" / "files_questions.txt").read_text(encoding="utf-8").splitlines()[1:]
    ):
        file, *parts = (part.strip() for part in line.split("|"))
        lists = [
            part if n in (0, 4) else [word.strip() for word in part.split(",") if word.strip()]
            for n, part in enumerate(parts)
        ]
        found.append((file, dict(zip(FIELDS, lists, strict=True))))
    return found


def without(query: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """The question with some fields left empty."""
    return query | {name: type(query[name])() for name in fields}


def score(
    app: App, asked: list[tuple[str, dict[str, Any]]], *dropped: str
) -> tuple[float, float, list[str]]:
    """Hit@5, hit@1, and the questions that missed."""
    ranks, missed = [], []
    for file, query in asked:
        outcome = app.registry.run(
            "search_memory", {"parsed_query": without(query, dropped)}, Call(ME, app.engine)
        )
        assert outcome.ok, outcome.body
        names = [one["name"] for one in body_of(outcome)["result"]["results"]]
        ranks.append(names.index(file) if file in names else 99)
        if ranks[-1] > 4:
            missed.append(f"{file}: {query[FIELDS[4]]}")
    return (
        sum(rank < 5 for rank in ranks) / len(ranks),
        sum(rank == 0 for rank in ranks) / len(ranks),
        missed,
    )


def main() -> None:
    """All fields, then each removed, then each alone."""
    asked = questions()
    chinese = [one for one in asked if one[0] in CHINESE]
    with fresh("minilm") as app, TemporaryDirectory() as folder:
        count = load(app, Path(folder))
        print(f"{len(asked)} questions, {len(chinese)} in Chinese, over {count} files")
        print(f"{'fields':44}{'hit@5':>8}{'hit@1':>8}")
        whole, first, missed = score(app, asked)
        print(
            f"{'all five':44}{whole:8.3f}{first:8.3f}   bar {BAR}: {'ok' if whole >= BAR else 'MISSED'}"
        )
        print(f"{'all five, Chinese':44}{score(app, chinese)[0]:8.3f}{score(app, chinese)[1]:8.3f}")
        for name in FIELDS:
            print("{:44}{:8.3f}{:8.3f}".format(f"without {name}", *score(app, asked, name)[:2]))
        for name in FIELDS:
            others = tuple(other for other in FIELDS if other != name)
            having = [one for one in asked if one[1][name]]
            print(
                "{:44}{:8.3f}{:8.3f}".format(
                    f"only {name} ({len(having)})", *score(app, having, *others)[:2]
                )
            )
        for line in missed:
            print(f"missed: {line}")


if __name__ == "__main__":
    main()
